/*
 * An API server in memory that answers what the input says, whatever it is asked: kube_do(),
 * kube_list() and pause_for() are replaced (cmake/tests.cmake names the fuzzers).
 *
 * Answers stand in the input one after another, with a line "---" between them. Each begins with a
 * line "CODE [REASON]": 0, and the rest is the JSON of the answer (of a list: its page; each item
 * is given); or a negative code, and the rest is the message. After the last one there is no
 * answer: ERR_UNAVAILABLE. An answer to a request for an object is that object, as of the client:
 * else ERR_UNAVAILABLE, too. No thread but the fuzzer's.
 */
#pragma once

#include <stdint.h>

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

/* Told of each request, and of its answer: body NULL: r says why there is none. */
typedef void answers_see(const struct kube_request *request, int r, const struct value *body);

/* The input: borrowed until the next call. see: may be NULL. */
void answers_begin(const uint8_t *data, size_t size, answers_see *see);
/* How many requests there were. */
size_t answers_given(void);

/* A clock that stands still: ms, of both times. */
extern int64_t answers_now;
extern const struct clock_source answers_clock;
