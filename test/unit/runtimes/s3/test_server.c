/* The store in a bucket of a real server, that of $KUSION_TEST_S3. */
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/s3/private.h"
#include "test/unit/engine/sweep.h"
#include "test/unit/runtimes/chain/chain_races.h"
#include "test/unit/suite.h"

#define FOLDER "KUSION_TEST_S3_FOLDER"

static void with_server(void (*check)(struct chain_server *server))
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    check(&server);
    chain_server_done(&server);
}

static void check_objects(struct chain_server *server)
{
    chain_server_check_objects(server, 50);
}

static void keeps_the_contract_of_objects(void)
{
    with_server(check_objects);
}

static void keeps_the_contract(void)
{
    with_server(chain_server_check_store);
}

static void keeps_the_contract_of_histories(void)
{
    with_server(chain_server_check_history);
}

static void check_refusals(struct chain_server *server)
{
    _cleanup_free_ char *gone =
        str_printf("s3://no-such-bucket%s", strchr(server->place + strlen("s3://"), '/'));

    chain_server_check_refusals(server, gone);
}

static void is_refused(void)
{
    with_server(check_refusals);
}

static void check_races(struct chain_server *server)
{
    chain_races_run(server, sweep_times(1000));
}

static void loses_nothing_between_two_processes(void)
{
    with_server(check_races);
}

static void check_kills(struct chain_server *server)
{
    chain_races_run_killed(server, FOLDER, sweep_times(300));
}

static void loses_nothing_when_killed(void)
{
    with_server(check_kills);
}

static void check_cuts(struct chain_server *server)
{
    chain_races_run_cut(server, sweep_times(200));
}

static void loses_nothing_when_cut(void)
{
    with_server(check_cuts);
}

static void check_answers(struct chain_server *server)
{
    chain_races_run_faulty(server, sweep_times(150));
}

static void loses_nothing_by_answers(void)
{
    with_server(check_answers);
}

static void check_expiry(struct chain_server *server)
{
    chain_server_check_expiry(server, FOLDER);
}

static void refuses_an_expired_certificate(void)
{
    with_server(check_expiry);
}

/* A bucket is a folder of the server's, which answers 500 where it may not write. */
static void check_disk(struct chain_server *server)
{
    _cleanup_free_ char *path = str_printf("%s/data/disk-%d", getenv(FOLDER), getpid());
    struct chain_server other = {.open = server->open};

    other.place = str_printf("s3://disk-%d/test%s", getpid(), strchr(server->place, '?'));
    chain_server_check_disk(&other, path, FOLDER, "StoreFull", "StoreBusy");
    chain_server_done(&other);
}

static void loses_nothing_on_its_disk(void)
{
    with_server(check_disk);
}

SUITE(s3_server, TEST(keeps_the_contract_of_objects), TEST(keeps_the_contract),
      TEST(keeps_the_contract_of_histories), TEST(is_refused),
      TEST(loses_nothing_between_two_processes), TEST(loses_nothing_when_killed),
      TEST(loses_nothing_when_cut), TEST(loses_nothing_by_answers),
      TEST(refuses_an_expired_certificate), TEST(loses_nothing_on_its_disk))
