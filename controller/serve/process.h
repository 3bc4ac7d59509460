/*
 * What the kernel says about this process. 0 where it says nothing.
 */
#ifndef CONTROLLER_SERVE_PROCESS_H
#define CONTROLLER_SERVE_PROCESS_H

double process_resident_bytes(void);
double process_cpu_seconds(void);
double process_start_seconds(void); /* since 1970 */

#endif
