/* The store in a bucket of a real server, that of $KUSION_TEST_S3. */
#include "engine/base/str.h"
#include "runtimes/s3/private.h"
#include "test/unit/runtimes/chain/chain_races.h"
#include "test/unit/suite.h"

static void keeps_the_contract_of_objects(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_server_check_objects(&server, 50);
    chain_server_done(&server);
}

static void keeps_the_contract(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_server_check_store(&server);
    chain_server_done(&server);
}

static void keeps_the_contract_of_histories(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_server_check_history(&server);
    chain_server_done(&server);
}

static void is_refused(void)
{
    struct chain_server server;
    _cleanup_free_ char *gone = NULL;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    gone = str_printf("s3://no-such-bucket%s", strchr(server.place + strlen("s3://"), '/'));
    chain_server_check_refusals(&server, gone);
    chain_server_done(&server);
}

static void loses_nothing_between_two_processes(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_races_run(&server, 200);
    chain_server_done(&server);
}

static void loses_nothing_when_killed(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_races_run_killed(&server, "KUSION_TEST_S3_FOLDER", 300);
    chain_server_done(&server);
}

static void loses_nothing_when_cut(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_races_run_cut(&server, 100);
    chain_server_done(&server);
}

static void loses_nothing_by_answers(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_races_run_faulty(&server, 100);
    chain_server_done(&server);
}

static void refuses_an_expired_certificate(void)
{
    struct chain_server server;

    if (!chain_server_find("KUSION_TEST_S3", s3_objects_new, &server))
        return;
    chain_server_check_expiry(&server, "KUSION_TEST_S3_FOLDER");
    chain_server_done(&server);
}

SUITE(s3_server, TEST(keeps_the_contract_of_objects), TEST(keeps_the_contract),
      TEST(keeps_the_contract_of_histories), TEST(is_refused),
      TEST(loses_nothing_between_two_processes), TEST(loses_nothing_when_killed),
      TEST(loses_nothing_when_cut), TEST(loses_nothing_by_answers),
      TEST(refuses_an_expired_certificate))
