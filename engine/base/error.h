/*
 * An error is a small object on the caller's stack: a code for decisions, a reason for conditions,
 * and a message for people.
 *
 * A function that can fail takes a `struct error *` last, and returns 0 or a negative enum
 * error_code. It leaves the error untouched on success. A caller that passes an error up adds
 * context with err_wrap(). Library code never logs an error that it returns; the caller that
 * handles the error logs it, once.
 *
 * Expected outcomes (not found, conflict) are told apart by code, never by text. A message never
 * contains a secret.
 *
 * error may be NULL everywhere: the caller needs the code alone.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/base/cleanup.h"

enum error_code {
    ERR_INVALID = -1,      /* the input is wrong, and retrying does not help */
    ERR_NOT_FOUND = -2,    /* certain to be absent */
    ERR_CONFLICT = -3,     /* another client changed the object first, or owns it */
    ERR_EXISTS = -4,       /* an object to be created exists already */
    ERR_FORBIDDEN = -5,    /* a right is missing */
    ERR_UNAUTHENTICATED = -6,
    ERR_TOO_LARGE = -7,    /* larger than a bound of limits.h, or of the server */
    ERR_CORRUPT = -8,      /* stored data is damaged or incomplete */
    ERR_UNAVAILABLE = -9,  /* no answer, or one that asks to try again */
    ERR_TIMEOUT = -10,     /* the deadline passed; the outcome may be unknown */
    ERR_CANCELLED = -11,   /* the caller's cancel fired */
    ERR_GONE = -12,        /* a resume point that is no longer served (410) */
    ERR_FENCED = -13,      /* this process is not the leader, or may have lost the Lease */
    ERR_UNSUPPORTED = -14, /* valid, but not implemented */
    ERR_INTERNAL = -15,    /* a bug, or an answer that makes no sense */
};

#define ERROR_REASON_SIZE 64
#define ERROR_MESSAGE_SIZE 3072

struct error {
    int code;                         /* 0, or an enum error_code */
    char reason[ERROR_REASON_SIZE];   /* CamelCase, as in a condition; not empty if code is set */
    char message[ERROR_MESSAGE_SIZE]; /* one line of UTF-8, cut with "…" if longer; then hints */
};

/* Sets code, reason and message, and returns code. */
int err_set(struct error *error, int code, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
int err_set_v(struct error *error, int code, const char *reason, const char *format, va_list args)
    PRINTF_LIKE(4, 0);

/* Tells clang's analyzer, which sees one file at a time, what these functions return. */
#ifdef __clang_analyzer__
#define err_set(error, code, ...)   ((void)err_set(error, code, __VA_ARGS__), (code))
#define err_set_v(error, code, ...) ((void)err_set_v(error, code, __VA_ARGS__), (code))
#endif

/* Puts "context: " before the message. It returns void, because error may be NULL, and a code read
 * from a NULL error would turn a failure into success. */
void err_wrap(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Hints say what to do, most often a command to type. Each is a line of its own, below the line of
 * the message. No other text begins a line: err_set() and err_wrap() make one line of what they are
 * given. So whatever names and texts of others a message repeats, they cannot pass as a hint. The
 * arguments of a hint must be no such texts.
 *
 * A hint is never cut; the line of the message is, to make room. False: the error has no code, or
 * there is no room for the hint beside 128 bytes of that line.
 */
bool err_hint(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);
/* Adds the hints of another message that this one does not have, as many as fit. */
void err_add_hints(struct error *error, const char *message);
/* The hints below the line of a message: "", or "\nhint\nhint". */
const char *err_hints(const char *message);

/* Copies an error, and returns its code. If there is none (from is NULL, or has code 0), it returns
 * 0 and leaves *to as it is, as every function does on success. to may be NULL. */
int err_copy(struct error *to, const struct error *from);

void err_clear(struct error *error);

/* A copy on the heap, for what lives long or is many; free(). It ends where the message ends, so
 * it is read, and copied by err_copy(), and nothing else is done with it. */
struct error *err_new(const struct error *error);
/* Bytes of such a copy. error NULL: 0. */
size_t err_size(const struct error *error);

/* The default reason of a code: "NotFound". */
const char *err_reason(int code);

/* True if a retry may help: UNAVAILABLE, TIMEOUT, CONFLICT. */
bool err_is_transient(int code);
