#!/usr/bin/env python3
"""D1 to D7 with NumPy: what is no loop over single cells or numbers, which would take minutes.

    scripts.py [NAME...]        T: threads of BLAS, REPS: runs
"""
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ.get("T", "2")
import numpy as np  # noqa: E402  (reads the number of threads when it is loaded)

N = 4096


def cells():
    """The generator of the other references: splitmix64 by counter."""
    i = np.arange(1, N * N + 1, dtype=np.uint64)
    z = i * np.uint64(0x9E3779B97F4A7C15) + np.uint64(201 * 0xD1342543DE82EF95 % 2**64)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5).reshape(N, N)


def affine(X):
    return X * 2.0 + 1.0


def standardised(X):
    return ((X - X.mean(0)) / X.std(0)).sum()


def kmeans(X):
    C = X[:16]
    D = (X @ C.T) * -2.0 + (C**2.0).sum(1)
    P = (D <= D.min(1, keepdims=True)).astype(np.float64)
    P = P / P.sum(1, keepdims=True)
    return (P.T @ X) / P.sum(0)[:, None]


def smooth(X):
    i, e = 0, 1.0
    while i < 10 and e > 0.0:
        X = X * 0.5 + 0.25
        e = (X * X).sum()
        i += 1
    return X


def decays(X):
    Z = np.zeros(X.shape)
    for i in range(1, N):
        Z[i] = Z[i - 1] * 0.5 + X[i]
    return Z


def small(_):
    A = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.1, 0.1, 0.4]])
    y = np.array([[1.0], [2.0], [3.0]])
    for _ in range(100000):
        y = A @ y + 1.0
        y = y / max(y.max(), 1.0)
    return y


def main():
    programs = {"D1": affine, "D2": standardised, "D3.kmeans": kmeans, "D5.while": smooth, "D6.rows": decays,
                "D7.small": small}
    wanted = [n for n in programs if n in sys.argv[1:] or len(sys.argv) == 1]
    X = cells() if any(n != "D7.small" for n in wanted) else None
    for name in wanted:
        times, processor = [], []
        result, start = programs[name](X), time.perf_counter()
        for run in range(int(os.environ.get("REPS", "7"))):
            del result  # freeing belongs to the run
            t, c = time.perf_counter(), time.process_time()
            result = programs[name](X)
            times.append(time.perf_counter() - t)
            processor.append(time.process_time() - c)
            if run >= 2 and time.perf_counter() - start > 12:
                break
        flat = np.ravel(result)
        digest = (flat * (np.arange(flat.size) % 7 + 1)).sum()
        print(f"{name} {sorted(times)[len(times) // 2]:.6f} min {min(times):.6f} cpu {sorted(processor)[len(times) // 2]:.6f} "
              f"T{os.environ.get('T', '2')} chk {digest:.12g}", flush=True)


if __name__ == "__main__":
    main()
