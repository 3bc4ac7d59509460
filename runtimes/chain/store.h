/*
 * A store (engine/store.h) of documents in objects that are created and never changed
 * (objects.h): for servers whose one dependable condition is "create, if it is absent".
 *
 * Why not one object for each document, replaced by If-Match? Alibaba OSS has no such header, and
 * Google's XML API another; an ETag is most often a hash of the content, so whoever writes what is
 * there already lets an old writer win; deletions with If-Match race on real servers; and WebDAV
 * servers check it before they write.
 *
 * The chain. A document is a chain of objects with ascending numbers, and the newest (the one with
 * the highest number) is the document. Its key is
 *
 *     v1/KIND/NAMESPACE/NAME/[ITEM]~NUMBER
 *
 * with 16 digits. In names, characters but [a-z0-9._-] are =XX; a long one is cut, and ends in a
 * checksum. Each object is whole in itself: its document's name, its number, a random write id, the
 * write ids of the numbers before it, and two sections, the open and the secret part, each with its
 * length and SHA-256. A removal is an object, too: a tombstone. (object.c has the format.)
 *
 *   - A write that saw number N as the newest creates N+1, and then lists the chain. It succeeded
 * if N and N+1 are the two highest. If there is a higher number, that object decides: if it names
 *     this write among those before it, others built upon it, so it succeeded. If it does not, N+1
 *     had been there before and was deleted since: ERR_CONFLICT, and the writer deletes its own
 *     object, on which nobody builds.
 *   - The first write of a chain begins it with a tombstone, whose number is the time in
 *     microseconds, and lists the chain. If anything else is there: ERR_CONFLICT. Then it writes
 *     the next number, as every write does. Of two writers that begin a chain at the same time,
 * with tombstones of different numbers, at least one sees the other's tombstone or document: each
 *     creates before it lists.
 *   - A removal creates a tombstone as N+1, in the same way, and then deletes all that is lower.
 *     It does so too where a tombstone is the newest: a create that was not answered may still come
 *     as N+1, and now fails.
 *   - After a write, all but the newest KEPT objects are deleted: the two States before are a
 *     backup. Tombstones that are alone for a day are deleted by tidy.
 *   - So the chain of a document that exists has at least two objects, and one that has a single
 *     object is removed. list() needs the keys alone. A single object that is no tombstone is
 *     ERR_CORRUPT: a rule of the bucket expired what was before it, or a create came after days.
 *
 * No number is used twice, because a chain begins with the time, and each number more takes longer
 * than a microsecond. (In a first proposal, chains began with 1. A chain that began again after its
 * tombstone was deleted used numbers for which deletions of its former life could still come.)
 *
 * What can go wrong, and what comes of it:
 *
 *   kill -9 before a create       nothing has changed
 *     after a create              it has happened; what should have been deleted is deleted by the
 *                                 next write, or by tidy
 *     of a first write            its tombstone alone is left: there is no document
 *     of a removal                the document cannot be read. list() names it as long as it has
 *                                 lower objects, so that the removal is repeated
 *   a create without an answer    the object is read: this write's id, and it has happened; another
 *                                 one's, and it is ERR_CONFLICT; none, and the create is repeated,
 *                                 until the deadline. Then it may still come: whoever writes or
 *                                 removes next takes its number, so one of the two fails
 *   a create that comes later     its number was taken: it fails. It was taken, and deleted since:
 *                                 it is below the newest, nobody reads it, and the next write or
 *                                 tidy deletes it. The whole chain is gone: it is alone, and
 *                                 ERR_CORRUPT, not a document
 *   a writer that slept for days  the same. It is told ERR_CONFLICT, as N is not there
 *   a delete that comes later     its number is not used again
 *   a tombstone is deleted while  the list of that writer does not have N: ERR_CONFLICT
 *     somebody writes after it
 *   a reader while others purge   the newest is gone when it is read: it lists again
 *   clocks                        a chain that begins while the clock is behind has lower numbers
 *                                 than its former life had. Numbers do not meet again until the
 *                                 clock is behind by more than a day, and a deletion is late by as
 *                                 much. Tombstones may be deleted later or sooner by the difference
 *                                 of clocks
 *
 * It is required that lists show at once what was created, as objects.h says: S3 and its kin do
 * since 2020, and file systems do.
 *
 * A first write takes two creates and two lists, a write one of each and a delete, a reading a list
 * and a get. There is no append.
 */
#ifndef RUNTIMES_CHAIN_STORE_H
#define RUNTIMES_CHAIN_STORE_H

#include "engine/base/clock.h"
#include "runtimes/chain/objects.h"

/*
 * Takes over the objects. clock: outlives the store. The default deadline is 60 s.
 *
 * is_unproved: before its first change, the store finds out if the server can be used. It creates
 * one object eight times at once, and once more after that; exactly one may succeed. Until that was
 * seen, changes are ERR_INVALID StoreNotConditional, or what the server's errors were.
 */
struct store *chain_store_new(struct objects *objects, const struct clock_source *clock,
                              bool is_unproved);

#endif
