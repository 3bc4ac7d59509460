/*
 * An output whose text is read back: what a command prints, for tests.
 */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/frame/output.h"
#include "engine/base/mem.h"

struct captured {
    struct output out;
    int fd;
};

static inline void captured_init(struct captured *captured)
{
    captured->fd = memfd_create("captured", MFD_CLOEXEC);
    output_init(&captured->out, captured->fd, "never", NULL);
}

/* What was printed; free(). Ends it. */
static inline char *captured_take(struct captured *captured)
{
    size_t length;
    char *text;

    output_done(&captured->out);
    length = (size_t)lseek(captured->fd, 0, SEEK_END);
    text = mem_new(length + 1);
    if (pread(captured->fd, text, length, 0) != (ssize_t)length)
        abort();
    close(captured->fd);
    return text;
}
