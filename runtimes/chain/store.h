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
 * write ids of up to eight objects before it, and two sections, the open and the secret part, each
 * with its length and SHA-256. A removal is an object, too: a tombstone. (object.c has the format.)
 *
 *   - A write that saw number N as the newest creates N+1, then lists the chain. It succeeded if
 *     N and N+1 are the two highest. If there is a higher number, that object decides: if it names
 *     this write among those before it, others built upon it, so it succeeded. If it does not, N+1
 *     had been there before and was deleted since: ERR_CONFLICT, and the writer deletes its own
 *     object, on which nobody builds.
 *   - The first write of day D (UTC, since 1970) creates a tombstone with the number (D-1) * 10^10,
 *     the beginning, and lists the chain: if anything else is there, ERR_CONFLICT. It then writes
 *     D * 10^10, the number that follows that beginning, as each write does. Two writers that begin
 *     on one day meet at the beginning. Where the day changes, or clocks differ by less than a day,
 *     the document of one and the beginning of the other are the same number.
 *   - A removal creates a tombstone as N+1, in the same way, and then deletes all that is lower.
 *     It does so too where a tombstone is the newest: a create that was not answered may still come
 *     as N+1, and now fails.
 *   - After a write, all but the newest three objects are deleted: the two States before are a
 *     backup.
 *   - A tombstone that is alone for two days is closed by tidy: N+1 is created as one that nobody
 *     writes after, then N is deleted. Whoever wants to write after N needs the number N+1, too,
 *     so one of the two fails. Two days later what closed it is deleted. After a closed one, and
 *     after it is gone, a chain begins anew, with the numbers of a later day.
 *   - So the chain of a document that exists has at least two objects, and one that has a single
 *     object is removed. list() needs the keys alone. A single object that is no tombstone is
 *     ERR_CORRUPT: a rule of the bucket expired what was before it, or a create came after days.
 *
 * No number is used twice, because a chain begins with the day, and has less than 10^10 numbers a
 * day. (In a first proposal, chains began with 1. A chain that began again after its tombstone was
 * deleted used numbers for which creates and deletions of its former life could still come. With a
 * tombstone that was simply deleted, a writer that had seen it could still write after it, while
 * another began anew.)
 *
 * What can go wrong, and what comes of it (test_random.c tries all of it at once):
 *
 *   kill -9 before a create       nothing has changed
 *     after a create              it has happened; what should have been deleted is deleted by the
 *                                 next write, or by tidy
 *     of a first write            its beginning alone is left: there is no document
 *     of a removal                the document cannot be read. list() names it as long as it has
 *                                 lower objects, so that the removal is repeated
 *   a create without an answer    the object is read: this write's id, and it has happened; another
 *                                 one's, and it is ERR_CONFLICT; none, and the create is repeated,
 *                                 four times at most. Then it may still come: whoever writes or
 *                                 removes next takes its number, so one of the two fails
 *   a create that comes later,    its number is taken: it fails. It was taken, and deleted since:
 *     by up to 15 minutes         it is below the newest, nobody reads it, and the next write or
 *     (S3), or twice              tidy deletes it
 *     by days                     the chain may be gone. Then it is alone: ERR_CORRUPT, and no
 *                                 document that somebody takes for the newest
 *   a writer that slept for days  what a handle saw over a day ago is looked at again before it
 *                                 writes. If it sleeps after that: N is not there, ERR_CONFLICT. It
 *                                 takes its object back: a tombstone after it, then it is deleted
 *   a delete that comes later     its number is not used again
 *   a reader while others purge   the newest is gone when it is read: it lists again
 *   eight writes before a list    the newest does not name this write any more: ERR_UNAVAILABLE
 *                                 StoreInDoubt, and a read shows what there is
 *   clocks                        those of all writers must differ by less than a day
 *
 * It is required that lists show at once what was created, as objects.h says: S3 and its kin do
 * since 2020, and file systems do.
 *
 * A first write takes two creates and two lists, a write one of each and a delete, a reading a list
 * and a get, a removal as many deletes as there are objects. There is no append.
 */
#pragma once

#include "engine/threads/clock.h"
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
