/*
 * Objects in memory (runtimes/chain/objects.h), for tests of what stands above them.
 *
 * The objects are in a medium; each table over it is as a process that uses it. A callback may
 * decide what becomes of each request, and what a network does with it.
 *
 * Thread-safe. The callback is called without a lock.
 */
#pragma once

#include "runtimes/chain/objects.h"

struct memory_objects_medium;

struct memory_objects_medium *memory_objects_medium_new(void);
void memory_objects_medium_free(struct memory_objects_medium *medium); /* after its tables */
DEFINE_CLEANUP(struct memory_objects_medium *, memory_objects_medium_free)

struct objects *memory_objects_new(struct memory_objects_medium *medium);

enum objects_request { OBJECTS_CREATE, OBJECTS_GET, OBJECTS_DELETE, OBJECTS_LIST };

enum objects_fault {
    OBJECTS_WORK,
    OBJECTS_LOST,         /* ERR_UNAVAILABLE; it does not happen */
    OBJECTS_UNANSWERED,   /* ERR_UNAVAILABLE; it happens (a create, a delete) */
    OBJECTS_LATE,         /* ERR_UNAVAILABLE; it happens when memory_objects_deliver() says so */
    OBJECTS_DOUBLED,      /* it happens twice; the answer is the second one's */
    OBJECTS_DOUBLED_LATE, /* the same, and the second time is when memory_objects_deliver() says so
                           */
};

/* Asked before each request: key, or the prefix of a list. NULL: all work. */
typedef enum objects_fault objects_on_request(void *arg, struct objects *objects,
                                              enum objects_request request, const char *key);
void memory_objects_watch(struct memory_objects_medium *medium, objects_on_request *fn, void *arg);

/* Carries out the nth (from 0) of the requests that are late. False: there are not so many. */
bool memory_objects_deliver(struct memory_objects_medium *medium, size_t nth);
size_t memory_objects_late(struct memory_objects_medium *medium);

/* Time of what is created from now on, ms since 1970. At first it is the time of day. */
void memory_objects_set_time(struct memory_objects_medium *medium, int64_t now);

size_t memory_objects_count(struct memory_objects_medium *medium);
/* The nth key, ascending; borrowed until a change. NULL: there are not so many. */
const char *memory_objects_key(struct memory_objects_medium *medium, size_t nth);
/* The bytes of the object; borrowed until it is deleted. NULL: there is none. A test may change
 * them. */
struct buf *memory_objects_bytes(struct memory_objects_medium *medium, const char *key);
