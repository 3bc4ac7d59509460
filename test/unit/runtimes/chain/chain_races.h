/*
 * Processes that write one document at the same time, over a real server: each reads it, and writes
 * it with a number of its own added. In the end, the document has each number that was
 * acknowledged, none that was refused, and none twice.
 */
#pragma once

#include "test/unit/runtimes/chain/chain_server.h"

/* Two processes, until so many writes were acknowledged. */
void chain_races_run(struct chain_server *server, unsigned writes);

/* The same, and all the time one of the writers, or the server, is killed and started again.
 * folder: the variable with the server's folder, which has run.pid. */
void chain_races_run_killed(struct chain_server *server, const char *folder, unsigned writes);

/* Two processes, by a proxy that breaks all connections all the time: requests and answers are lost
 * in the middle. */
void chain_races_run_cut(struct chain_server *server, unsigned writes);

/* Two processes whose creates and deletes are sent twice, are not answered, or come later than
 * their answer. */
void chain_races_run_faulty(struct chain_server *server, unsigned writes);
