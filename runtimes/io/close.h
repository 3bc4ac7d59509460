/*
 * Closes what a local variable has open, on every way out of its scope:
 *
 *   _cleanup_(close_fd_p) int fd = open(…);
 *   _cleanup_(close_folder_p) DIR *folder = opendir(…);
 *
 * One that could not be opened (-1, NULL) is left alone.
 */
#pragma once

#include <dirent.h>
#include <unistd.h>

#include "engine/base/cleanup.h"

static inline void close_fd_p(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void close_folder_p(DIR *const *folder)
{
    if (*folder)
        closedir(*folder);
}
