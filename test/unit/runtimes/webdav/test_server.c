/* The store in a folder of real servers: $KUSION_TEST_APACHE, $KUSION_TEST_NGINX, and the same by a
 * token, $KUSION_TEST_NGINX_BEARER. */
#include "engine/base/str.h"
#include "runtimes/webdav/private.h"
#include "test/unit/runtimes/chain/chain_races.h"
#include "test/unit/suite.h"

static const char *const servers[] = {"KUSION_TEST_APACHE", "KUSION_TEST_NGINX",
                                      "KUSION_TEST_NGINX_BEARER"};

static void for_each(void (*check)(struct chain_server *server))
{
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        check(&server);
        chain_server_done(&server);
    }
}

static void check_objects(struct chain_server *server)
{
    chain_server_check_objects(server, 50);
}

static void keeps_the_contract_of_objects(void)
{
    for_each(check_objects);
}

static void keeps_the_contract(void)
{
    for_each(chain_server_check_store);
}

static void keeps_the_contract_of_histories(void)
{
    for_each(chain_server_check_history);
}

static void is_refused(void)
{
    for (size_t i = 0; i < 2; i++) { /* the third has a token */
        struct chain_server server;
        _cleanup_free_ char *gone = NULL;
        const char *query;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        query = strchr(server.place, '?');
        gone = str_printf("%.*s/gone%s", (int)(query - server.place), server.place, query);
        chain_server_check_refusals(&server, gone);
        chain_server_done(&server);
    }
}

static void check_races(struct chain_server *server)
{
    chain_races_run(server, 200);
}

static void loses_nothing_between_two_processes(void)
{
    for_each(check_races);
}

static const char *const folders[] = {"KUSION_TEST_APACHE_FOLDER", "KUSION_TEST_NGINX_FOLDER"};

static void loses_nothing_when_killed(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        chain_races_run_killed(&server, folders[i], 300);
        chain_server_done(&server);
    }
}

static void check_cuts(struct chain_server *server)
{
    chain_races_run_cut(server, 200);
}

static void loses_nothing_when_cut(void)
{
    for_each(check_cuts);
}

static void check_answers(struct chain_server *server)
{
    chain_races_run_faulty(server, 100);
}

static void loses_nothing_by_answers(void)
{
    for_each(check_answers);
}

static void refuses_an_expired_certificate(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        chain_server_check_expiry(&server, folders[i]);
        chain_server_done(&server);
    }
}

SUITE(webdav_server, TEST(keeps_the_contract_of_objects), TEST(keeps_the_contract),
      TEST(keeps_the_contract_of_histories), TEST(is_refused),
      TEST(loses_nothing_between_two_processes), TEST(loses_nothing_when_killed),
      TEST(loses_nothing_when_cut), TEST(loses_nothing_by_answers),
      TEST(refuses_an_expired_certificate))
