/*
 * Writing to files.
 */
#pragma once

#include <stddef.h>

/* Writes all bytes, with as many calls as that takes. 0; -1: errno says why. Any thread; blocks. */
int write_all(int fd, const void *data, size_t length);
