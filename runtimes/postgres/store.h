/*
 * A store (engine/store.h) of documents in a PostgreSQL database, version 13 or later.
 *
 * A document is a row of the table kusion.document, with both parts; its entries are rows of
 * kusion.entry. Each write draws a random version. A change is one statement that names the version
 * which the handle saw, in a transaction of its own:
 *
 *     BEGIN, limits of time, the statement   one round trip: the server answers that it can be done
 *     the call's permit
 *     COMMIT                                  one round trip
 *
 * So a change is in doubt only where COMMIT was sent and not answered. Until that is decided, the
 * open transaction has the row's lock (or, of a create, the key's place in the index), and the next
 * change of the document waits for it. So nothing that comes late can overtake what another process
 * was told, no tombstones are needed, and a removal is certain: one that saw no document also waits
 * for a create that is under way. A process that is killed or frozen before its COMMIT loses the
 * transaction: the server rolls it back when the connection ends, or after the time that it was
 * given (idle_in_transaction_session_timeout). A version is random and not a number, so that a
 * database that was restored from a backup cannot come to a version again.
 *
 * A read is one SELECT of a document with its entries. Each part and entry has a SHA-256, so what
 * was changed by hand is ERR_CORRUPT. Both parts are stored as they are: use a seal for what
 * administrators of the database shall not read.
 *
 * The tables are made at the first use, and brought up to date by numbered migrations, in one
 * transaction under an advisory lock. A database of a later version is ERR_UNSUPPORTED
 * StoreOfLaterVersion. For people there is the view kusion.releases.
 *
 * It works through pgbouncer in transaction pooling: no settings of the session, no named
 * statements, no locks of the session.
 *
 * Errors name the host, the database and the table, never the password:
 *   ERR_UNAVAILABLE StoreUnreachable  no connection, or it was cut; the server starts or stops
 *   ERR_UNAVAILABLE StoreNotFound     no such database, or its tables were dropped meanwhile: never
 *                                     taken for documents that are not there
 *   ERR_UNAVAILABLE StoreBusy         too many connections; a transaction was rolled back
 *   ERR_UNAVAILABLE StoreFull         the server has no room on its disk or in its memory (53)
 *   ERR_TIMEOUT StoreSlow             no answer in time, or another transaction has the lock
 *   ERR_UNAVAILABLE StoreInDoubt      COMMIT was not answered; ERR_TIMEOUT: not in time
 *   ERR_FORBIDDEN StoreRefused        a right is missing
 *   ERR_UNAUTHENTICATED StoreRefused  user, password or its file; a certificate, of either side
 *   ERR_CORRUPT StateCorrupt          a checksum or the server says that stored data is damaged
 *   ERR_INTERNAL UnexpectedAnswer     what the server sent is no answer to what it was asked
 *   ERR_INVALID InvalidAddress        the address is wrong
 *
 * Threads: all share two connections at most; who finds none free waits for one. The look-up of the
 * host's name is not cut short by a deadline.
 */
#pragma once

#include "engine/store.h"

/*
 * The place, as an address (the value of --state-backend):
 *
 *     postgres://USER@HOST[:PORT]/DATABASE[?NAME=VALUE[&…]]
 *
 * with %XX for other characters. HOST is a name, an IPv4 address, or an IPv6 address in brackets;
 * or several names with commas between, of which the first that answers and is the primary is used.
 * There is no password in it, because command lines are seen by others. NAME is one of:
 *   passfile     a file with the password and nothing else; a newline at its end does not count. It
 *                is read for each connection, so it may change
 *   sslmode      verify-full if not given; verify-ca, require or disable (libpq has the meanings)
 *   sslrootcert  a file with the certificates of authorities; if not given, those of the system
 *   sslcert, sslkey  files with the client's certificate and key
 *
 * It does not connect: the first call does. ERR_INVALID InvalidAddress.
 */
int postgres_store_open(const char *address, struct store **ret, struct error *error);
