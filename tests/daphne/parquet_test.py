#!/usr/bin/env python3
"""Parquet files, read and written by scripts, beside what pyarrow reads and writes. Usage: parquet_test.py WELD_CLI
[unittest options]"""
import math
import random
import sys
import unittest

import pyarrow as pa
import pyarrow.parquet as pq

from files_test import Case


class ParquetTest(Case):
    def table(self, name, columns, **options):
        pq.write_table(pa.table(columns), self.folder / name, **options)
        return name

    def test_every_type_as_a_frame(self):
        self.table("a.parquet", {
            "b": pa.array([True, False]), "i1": pa.array([-128, 127], pa.int8()), "i2": pa.array([-300, 300], pa.int16()),
            "i4": pa.array([-2**31, 7], pa.int32()), "i8": pa.array([-2**63, 2**63 - 1], pa.int64()),
            "u1": pa.array([0, 255], pa.uint8()), "u2": pa.array([0, 65535], pa.uint16()),
            "u4": pa.array([0, 2**32 - 1], pa.uint32()), "u8": pa.array([0, 2**64 - 1], pa.uint64()),
            "f4": pa.array([0.5, math.inf], pa.float32()), "f8": pa.array([-0.25, math.nan]), "s": pa.array(["ä,\"b\"", ""]),
            "raw": pa.array([b"x", b"yz"])})
        self.prints('print(readFrame("a.parquet", true));',
                    "Frame(2x13, [b:uint8_t, i1:int8_t, i2:int32_t, i4:int32_t, i8:int64_t, u1:uint8_t, u2:uint32_t, u4:uint32_t, "
                    "u8:uint64_t, f4:float, f8:double, s:std::string, raw:std::string])\n"
                    "1 -128 -300 -2147483648 -9223372036854775808 0 0 0 0 0.5 -0.25 ä,\"b\" x\n"
                    "0 127 300 7 9223372036854775807 255 65535 4294967295 18446744073709551615 inf nan  yz\n")

    def test_row_groups_pages_encodings_and_compression(self):
        numbers = [float(i % 977) - 3.5 for i in range(150_001)]
        names = ["row " + str(i % 13) for i in range(len(numbers))]
        for compression in ("none", "snappy", "zstd"):
            for dictionary in (True, False):
                self.table("m.parquet", {"x": numbers, "y": numbers[::-1], "s": names}, row_group_size=40_000,
                           data_page_size=4096, compression=compression, use_dictionary=dictionary)
                self.prints('F = readFrame("m.parquet", true); X = as.matrix(F[, "x"]); Y = as.matrix(F[, "y"]); print(sum(X) + sum(Y)); print(X[140000, ]); print(Y[140000, ]);'
                            'print(as.scalar(F[149999, "s"]));',
                            f"{2 * sum(numbers):.6g}".rstrip("0") + "\n"
                            f"DenseMatrix(1x1, double)\n{numbers[140000]:g}\nDenseMatrix(1x1, double)\n{numbers[10000]:g}\n{names[149999]}\n")

    def test_missing_values(self):
        self.table("n.parquet", {"f": pa.array([1.5, None]), "i": pa.array([None, 2], pa.int32()), "s": pa.array([None, "x"])})
        self.prints('print(readFrame("n.parquet", true));',
                    "Frame(2x3, [f:double, i:double, s:std::string])\n1.5 nan \nnan 2 x\n")
        self.put("n.parquet.meta", '{"numRows":2,"numCols":3,"schema":[{"label":"f","valueType":"f64"},'
                                   '{"label":"i","valueType":"si32"},{"label":"s","valueType":"str"}]}')
        self.fails(3, r"n.parquet`: row 1, column 2: the value is missing, which a si32 cannot be",
                   'print(readFrame("n.parquet"));')

    def test_a_meta_says_what_the_cells_become(self):
        self.table("m.parquet", {"a": pa.array([1, 2, 3]), "b": pa.array([4.0, 5.0, 6.0])})
        meta = lambda of: self.put("m.parquet.meta", '{"numRows":3,"numCols":2,"valueType":"%s"}' % of)
        for of, name in (("f32", "float"), ("f64", "double"), ("si64", "int64_t"), ("ui8", "uint8_t")):
            meta(of)
            self.prints('print(readMatrix("m.parquet"));', f"DenseMatrix(3x2, {name})\n1 4\n2 5\n3 6\n")
        meta("str")
        self.fails(3, "m.parquet`: column 1 holds si64, not str", 'print(readMatrix("m.parquet"));')
        meta("ui8")
        self.table("m.parquet", {"a": pa.array([1, 256, 3]), "b": pa.array([4.0, 5.0, 6.0])})
        self.fails(3, "m.parquet`: row 2, column 1: 256 is no ui8", 'print(readMatrix("m.parquet"));')
        self.table("m.parquet", {"a": pa.array([1, 2, 3]), "b": pa.array([4.0, 5.0, -0.5])})
        self.fails(3, "m.parquet`: row 3, column 2: -0.5 is no ui8", 'print(readMatrix("m.parquet"));')
        self.table("m.parquet", {"a": pa.array([1, 2]), "b": pa.array([4.0, 5.0])})
        self.fails(3, "m.parquet`: it has 2 rows, not 3", 'print(readMatrix("m.parquet"));')
        self.table("m.parquet", {"a": pa.array([1, 2, 3])})
        self.fails(3, "m.parquet`: it has 1 columns, not 2", 'print(readMatrix("m.parquet"));')

    def test_what_cannot_be_a_column(self):
        self.table("l.parquet", {"a": [1], "l": [[1, 2]]})
        self.fails(1, r"1:17: error: cannot read `l.parquet`: column `l` holds list", 'print(readFrame("l.parquet", true));')
        self.table("d.parquet", {"d": pa.array([1], pa.date32())})
        self.fails(1, r"cannot read `d.parquet`: column `d` holds date32", 'print(readFrame("d.parquet", true));')

    def test_empty_tables(self):
        self.table("e.parquet", {"a": pa.array([], pa.int64())})
        self.prints('print(readFrame("e.parquet", true));', "Frame(0x1, [a:int64_t])\n")
        pq.write_table(pa.table({}), self.folder / "none.parquet")
        self.fails(3, "none.parquet`: a table has columns", 'print(ncol(readFrame("none.parquet", true)));')

    def test_writing(self):
        self.prints('F = createFrame([1, -2], [0.5, 1.5], ["x", "y,\\"z\\""], "i", "f", "s"); write(F, "f.parquet");'
                    'write(reshape(seq(1.0, 6.0, 1.0), 3, 2), "m.parquet"); print(readFrame("f.parquet"));'
                    'print(readMatrix("m.parquet"));',
                    "Frame(2x3, [i:int64_t, f:double, s:std::string])\n1 0.5 x\n-2 1.5 y,\"z\"\n"
                    "DenseMatrix(3x2, double)\n1 2\n3 4\n5 6\n")
        self.assertEqual(pq.read_table(self.folder / "f.parquet").to_pydict(),
                         {"i": [1, -2], "f": [0.5, 1.5], "s": ["x", "y,\"z\""]})
        self.assertEqual(pq.read_table(self.folder / "m.parquet").to_pydict(), {"col_0": [1, 3, 5], "col_1": [2, 4, 6]})
        self.assertEqual(self.names(), ["f.parquet", "f.parquet.meta", "m.parquet", "m.parquet.meta"])

    def test_writing_many_rows(self):
        for threads in ("1", "4"):
            self.prints('X = reshape(seq(1, 2400000, 1), 1200000, 2); write(X, "m.parquet"); Y = readMatrix("m.parquet");'
                        'print(sum(X != Y));', "0\n", "--threads", threads)
        column = pq.read_table(self.folder / "m.parquet").column("col_1")
        self.assertEqual((len(column), column[0].as_py(), column[-1].as_py()), (1_200_000, 2, 2_400_000))

    def test_the_memory_limit_counts_what_arrow_takes(self):
        self.table("m.parquet", {"x": [float(i) for i in range(1_000_000)]}, compression="zstd")
        self.fails(3, "memory limit of 4 MiB exceeded", 'print(sum(readMatrix("m.parquet", true)));', "--memory-limit", "4MiB")
        # Hardly more than the cells.
        self.prints('print(sum(readMatrix("m.parquet", true)));', "5e+11\n", "--memory-limit", "24MiB")

    def test_files_that_are_broken(self):
        self.table("a.parquet", {"x": list(range(500)), "s": [str(i % 7) for i in range(500)]}, compression="none")
        good = (self.folder / "a.parquet").read_bytes()
        for content in (b"", b"PAR1", b"PAR1xxxxPAR1", good[:-1], good[:200], b"no such file"):
            self.put("a.parquet", content)
            self.fails(1, "1:17: error: cannot read `a.parquet`: .", 'print(readFrame("a.parquet", true));')
        self.put("a.parquet", good[4:])  # its schema is right, its pages are not where it says
        self.fails(3, "1:7: error: `a.parquet`: .", 'print(readFrame("a.parquet", true));')
        random.seed(1)
        for _ in range(200):
            broken = bytearray(good)
            for _ in range(random.randrange(1, 4)):
                broken[random.randrange(len(broken))] = random.randrange(256)
            self.put("a.parquet", bytes(broken))
            run = self.run_script('F = readFrame("a.parquet", true); print(nrow(F));')
            self.assertIn(run.returncode, (0, 1, 3), run.stderr)
            self.assertEqual("error: " in run.stderr, run.returncode != 0)

    def test_a_changed_file(self):
        self.table("a.parquet", {"x": [1, 2]})
        script = 'print(sum(as.matrix(readFrame("a.parquet", true))));'
        for columns, out in (({"x": [1, 2]}, "3\n"), ({"x": [1, 2]}, "3\n"), ({"x": [1.5, 2]}, "3.5\n"), ({"y": [1]}, "1\n")):
            self.table("a.parquet", columns)
            self.prints(script, out, "--cache", str(self.folder / "cache"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
