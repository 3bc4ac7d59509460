/*
 * Ctrl-C, where something is to be put in order before the end. Elsewhere it ends the process as
 * usual.
 */
#ifndef CLI_FRAME_INTERRUPT_H
#define CLI_FRAME_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are remembered, instead of ending the process; the second one ends
 * it. */
void interrupt_catch(void);
bool interrupt_happened(void);
/* As it was before. */
void interrupt_release(void);

#endif
