/*
 * Small files that are read whole: a kubeconfig, a certificate, a token.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_FILE_H
#define RUNTIMES_KUBERNETES_CLIENT_FILE_H

#include "engine/base/error.h"

#define FILE_MAX_BYTES (4u << 20)

/* The text, terminated; free() it. ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_TOO_LARGE past
 * FILE_MAX_BYTES, ERR_INVALID for a NUL in it. Messages name the path, never what is in it. */
int file_read_text(const char *path, char **ret, struct error *error);

/* The same without the blanks around it; ERR_INVALID where nothing else is there. */
int file_read_word(const char *path, char **ret, struct error *error);

#endif
