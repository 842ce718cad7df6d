/* What fails when: the n-th allocation, or the n-th call for a file, of a process that libfaults.so is in.
 *
 * A program linked against it says so by `fault_arm`. Any other gets it by LD_PRELOAD and is told by the
 * environment:
 *
 *     FAULT=memory,17 weld-cli ...         the 17th allocation since `main` finds no memory
 *     FAULT=memory,17,on weld-cli ...      so do all that follow
 *     FAULT=write,2,on,28 weld-cli ...     writing fails with error 28 from the second time on
 *     FAULT=read,1,once,0 weld-cli ...     the first reading gives one byte only
 *     FAULT_CALLS=FILE weld-cli ...        writes how many there were of each to a file, at the end
 */
#ifndef FAULTS_H
#define FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

enum fault { FAULT_MEMORY, FAULT_READ, FAULT_WRITE, FAULT_OPEN, FAULT_NAME, NUM_FAULTS };

/* Call number `at` from now on fails with `error` (0: reads and writes only part of what was asked for), and
 * if `on` those after it, too. at == 0: none, but they are counted. */
void fault_arm(enum fault what, long at, int on, int error);
/* Nothing fails; returns the calls since `fault_arm`. */
long fault_disarm(void);

/* Bytes that are allocated now. */
long fault_bytes_in_use(void);

#ifdef __cplusplus
}
#endif
#endif
