/*
 * Errors are small objects on the caller's stack: a code to act on, a reason
 * to show in a condition, a message for a person.
 *
 * Functions that can fail take a `struct error *` last and return 0 or a
 * negative enum error_code. The error is untouched on success. A function
 * that passes a failure up adds what it was doing with err_wrap(). Library
 * code never logs an error that it returns: who handles it logs it, once.
 *
 * Outcomes that are expected (not found, conflict) are told apart by code,
 * never by matching text. A message never carries a secret.
 *
 * A NULL error is allowed everywhere: the caller wants the code alone.
 */
#ifndef ENGINE_BASE_ERROR_H
#define ENGINE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include "engine/base/cleanup.h"

enum error_code {
    ERR_INVALID = -1,      /* what was given is wrong, and waiting does not mend it */
    ERR_NOT_FOUND = -2,    /* known to be absent */
    ERR_CONFLICT = -3,     /* someone else changed it first, or owns it */
    ERR_EXISTS = -4,       /* to be created, but there */
    ERR_FORBIDDEN = -5,    /* we may not */
    ERR_UNAUTHENTICATED = -6,
    ERR_TOO_LARGE = -7,    /* a bound of limits.h, or of the other side */
    ERR_CORRUPT = -8,      /* stored data is damaged or incomplete */
    ERR_UNAVAILABLE = -9,  /* no answer, or one that asks to try again */
    ERR_TIMEOUT = -10,     /* the deadline passed; the outcome may be unknown */
    ERR_CANCELLED = -11,   /* we were asked to stop */
    ERR_GONE = -12,        /* a resume point that is no longer served (410) */
    ERR_FENCED = -13,      /* we are not, or may no longer be, the leader */
    ERR_UNSUPPORTED = -14, /* understood, and not implemented */
    ERR_INTERNAL = -15,    /* a bug, or an answer that makes no sense */
};

#define ERROR_REASON_SIZE 64
#define ERROR_MESSAGE_SIZE 1024

struct error {
    int code;                         /* 0, or an enum error_code */
    char reason[ERROR_REASON_SIZE];   /* CamelCase, as in a condition; never empty when code is set */
    char message[ERROR_MESSAGE_SIZE]; /* one line of UTF-8; cut with "…" if longer */
};

/* Sets all three and returns code. */
int err_set(struct error *error, int code, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
int err_set_v(struct error *error, int code, const char *reason, const char *format, va_list args)
    PRINTF_LIKE(4, 0);

/* clang's analyzer does not look into other files: so it is told what they return. */
#ifdef __clang_analyzer__
#define err_set(error, code, ...)   ((void)err_set(error, code, __VA_ARGS__), (code))
#define err_set_v(error, code, ...) ((void)err_set_v(error, code, __VA_ARGS__), (code))
#endif

/* Puts "context: " before the message. It returns nothing: error may be NULL, and a code that were
 * read from it would turn a failure into success. */
void err_wrap(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* Copies from into to (either may be NULL); returns from's code. */
int err_copy(struct error *to, const struct error *from);

void err_clear(struct error *error);

/* A copy on the heap, for what keeps errors that are mostly not there: free(). */
struct error *err_new(const struct error *error);

/* The reason that goes with a code where nothing better is known: "NotFound". */
const char *err_reason(int code);

/* True for what waiting may mend: UNAVAILABLE, TIMEOUT, CONFLICT. */
bool err_is_transient(int code);

#endif
