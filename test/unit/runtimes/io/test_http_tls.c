#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/io/http_fixture.h"

#define SERVER "test/unit/runtimes/io/tls_server.py"

/* tls_server.py and what it made: two CAs, and of the first one a server ("kubernetes",
 * 127.0.0.1) and a client. */
struct tls_fixture {
    pid_t pid;
    int input;
    char folder[64];
    int open_port, strict_port;
    char *ca, *other, *client, *key, *server, *server_key;
    struct http_loop *loop;
};

static char *read_pem(const struct tls_fixture *fixture, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", fixture->folder, name);
    struct buf text = BUF_INIT;
    char part[4096];
    FILE *file = fopen(path, "r");
    size_t length;

    CU_ASSERT_FATAL(file != NULL);
    while ((length = fread(part, 1, sizeof(part), file)) > 0)
        buf_add(&text, part, length);
    fclose(file);
    return buf_take(&text);
}

static void start_server(struct tls_fixture *fixture)
{
    char program[] = "python3", script[] = SERVER;
    char *const arguments[] = {program, script, fixture->folder, NULL};
    posix_spawn_file_actions_t actions;
    int input[2], output[2];
    FILE *ports;

    CU_ASSERT_FATAL(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    CU_ASSERT_FATAL(posix_spawnp(&fixture->pid, program, &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    fixture->input = input[1];
    ports = fdopen(output[0], "r");
    CU_ASSERT_FATAL(ports &&
                    fscanf(ports, "%d %d", &fixture->open_port, &fixture->strict_port) == 2);
    fclose(ports);
}

static void tls_fixture_init(struct tls_fixture *fixture)
{
    struct http_loop_config config = {.name = "test"};

    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/test-http-tls-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(fixture->folder) != NULL);
    start_server(fixture);
    fixture->ca = read_pem(fixture, "ca.pem");
    fixture->other = read_pem(fixture, "other.pem");
    fixture->client = read_pem(fixture, "client.pem");
    fixture->key = read_pem(fixture, "client.key");
    fixture->server = read_pem(fixture, "server.pem");
    fixture->server_key = read_pem(fixture, "server.key");
    CU_ASSERT_FATAL(http_loop_new(&config, &fixture->loop, NULL) == 0);
}

static void remove_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;

    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    CU_ASSERT(rmdir(folder) == 0);
}

static void tls_fixture_done(struct tls_fixture *fixture)
{
    http_loop_free(fixture->loop);
    close(fixture->input);
    waitpid(fixture->pid, NULL, 0);
    remove_folder(fixture->folder);
    free(fixture->ca);
    free(fixture->other);
    free(fixture->client);
    free(fixture->key);
    free(fixture->server);
    free(fixture->server_key);
}

static int get(struct tls_fixture *fixture, struct http_client_config *config, bool strict,
               const char *host, struct http_response *response, struct error *error)
{
    _cleanup_free_ char *url =
        str_printf("https://%s:%d", host, strict ? fixture->strict_port : fixture->open_port);
    struct http_request request = {.method = "GET", .path = "/", .timeout = 10000};
    struct http_client *client;
    int result;

    config->base_url = url;
    CU_ASSERT_FATAL(http_client_new(fixture->loop, config, &client, error) == 0);
    result = http_do(client, &request, response, error);
    http_client_free(client);
    return result;
}

static void verifies_the_server(void)
{
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;

    tls_fixture_init(&fixture);
    const struct {
        const char *note, *host, *ca, *name;
        int code;
        const char *reason;
    } rows[] = {
        {"its CA", "127.0.0.1", fixture.ca, NULL, 0, ""},
        {"another CA", "127.0.0.1", fixture.other, NULL, ERR_INVALID, "TLSVerification"},
        {"the system's CAs", "127.0.0.1", NULL, NULL, ERR_INVALID, "TLSVerification"},
        {"no CA at all", "127.0.0.1", "nonsense", NULL, ERR_INVALID, "TLSCertificate"},
        {"another host", "localhost", fixture.ca, NULL, ERR_INVALID, "TLSVerification"},
        {"its name", "localhost", fixture.ca, "kubernetes", 0, ""},
        {"another name", "127.0.0.1", fixture.ca, "elsewhere", ERR_INVALID, "TLSVerification"},
        {"its other name", "localhost", fixture.ca, "127.0.0.1", 0, ""},
        {"its CA, again", "127.0.0.1", fixture.ca, NULL, 0, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_client_config config = {.tls.ca_pem = rows[i].ca,
                                            .tls_server_name = rows[i].name};
        struct error error = {0};

        EXPECT_INT(get(&fixture, &config, false, rows[i].host, &response, &error), rows[i].code,
                   rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, error.message);
        EXPECT_INT(response.sent, rows[i].code == 0, rows[i].note);
    }
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

static void names_the_host_and_the_server(void)
{
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_free_ char *plain = NULL, *named = NULL;

    tls_fixture_init(&fixture);
    struct http_client_config config = {.tls.ca_pem = fixture.ca};

    plain = str_printf("127.0.0.1:%d - -", fixture.open_port);
    EXPECT_INT(get(&fixture, &config, false, "127.0.0.1", &response, NULL), 0, "plain");
    EXPECT_STR(response.body.data, plain, "an address has no SNI");
    config.tls_server_name = "kubernetes";
    named = str_printf("localhost:%d kubernetes -", fixture.open_port);
    EXPECT_INT(get(&fixture, &config, false, "localhost", &response, NULL), 0, "named");
    EXPECT_STR(response.body.data, named, "the address is in Host, the name in SNI");
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

static void shows_its_certificate(void)
{
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct error error = {0};

    tls_fixture_init(&fixture);
    struct http_client_config config = {.tls = {fixture.ca, fixture.client, fixture.key}};

    EXPECT_INT(get(&fixture, &config, true, "127.0.0.1", &response, &error), 0, error.message);
    EXPECT(str_has_suffix(response.body.data, " client"), response.body.data);
    config.tls.cert_pem = config.tls.key_pem =
        NULL; /* not over the connection that was authenticated */
    EXPECT_INT(get(&fixture, &config, true, "127.0.0.1", &response, &error), ERR_UNAVAILABLE,
               "without a certificate");
    config.tls.cert_pem = config.tls.key_pem = "nonsense";
    EXPECT_INT(get(&fixture, &config, true, "127.0.0.1", &response, &error), ERR_INVALID,
               "with what is no certificate");
    EXPECT_STR(error.reason, "TLSCertificate", error.message);
    EXPECT(!response.sent, "with what is no certificate");
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

/* A connection that another CA verified is not used again; handles that are idle have the new one.
 */
static void trusts_another_ca_from_then_on(void)
{
    static const struct http_request request = {.method = "GET", .path = "/", .timeout = 10000};
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_client *client;
    _cleanup_free_ char *url = NULL, *both = NULL;

    tls_fixture_init(&fixture);
    url = str_printf("https://127.0.0.1:%d", fixture.open_port);
    both = str_printf("%s%s", fixture.other, fixture.ca);
    const struct {
        const char *note, *ca;
        int code;
    } rows[] = {{"another", fixture.other, ERR_INVALID},
                {"its own", fixture.ca, 0},
                {"again", fixture.ca, 0},
                {"another again", fixture.other, ERR_INVALID},
                {"both", both, 0}};
    struct http_client_config config = {.base_url = url, .tls.ca_pem = fixture.ca};

    CU_ASSERT_FATAL(http_client_new(fixture.loop, &config, &client, NULL) == 0);
    EXPECT_INT(http_do(client, &request, &response, NULL), 0, "at first");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        http_client_set_tls(client, &(struct http_tls){.ca_pem = rows[i].ca});
        EXPECT_INT(http_do(client, &request, &response, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].code ? "TLSVerification" : "", error.message);
    }
    http_client_free(client);
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

/* Not over a connection on which it showed the one before. */
static void shows_another_certificate_from_then_on(void)
{
    static const struct http_request request = {.method = "GET", .path = "/", .timeout = 10000};
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_client *client;
    _cleanup_free_ char *url = NULL;

    tls_fixture_init(&fixture);
    url = str_printf("https://127.0.0.1:%d", fixture.strict_port);
    const struct http_tls first = {fixture.ca, fixture.client, fixture.key},
                          second = {fixture.ca, fixture.server, fixture.server_key};
    const struct {
        const char *note;
        const struct http_tls *tls;
        const char *shown;
    } rows[] = {{"the same", &first, " client"},
                {"another", &second, " server"},
                {"again", &second, " server"},
                {"the first", &first, " client"}};
    struct http_client_config config = {.base_url = url, .tls = first};

    CU_ASSERT_FATAL(http_client_new(fixture.loop, &config, &client, NULL) == 0);
    EXPECT_INT(http_do(client, &request, &response, NULL), 0, "at first");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        http_client_set_tls(client, rows[i].tls);
        EXPECT_INT(http_do(client, &request, &response, NULL), 0, rows[i].note);
        EXPECT(str_has_suffix(response.body.data, rows[i].shown), response.body.data);
    }
    http_client_free(client);
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

/* A certificate is no secret: who has it alone does not get a connection that its owner made. */
static void a_certificate_without_its_key_is_nobodys(void)
{
    struct tls_fixture fixture = {.pid = 0};
    struct http_response response = HTTP_RESPONSE_INIT;

    tls_fixture_init(&fixture);
    const struct {
        const char *note, *key, *reason;
        int code;
    } rows[] = {{"another key", fixture.server_key, "TLSCertificate", ERR_INVALID},
                {"no key", "nonsense", "TLSCertificate", ERR_INVALID},
                {"its key", fixture.key, "", 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_client_config owner = {.tls = {fixture.ca, fixture.client, fixture.key}};
        struct http_client_config other = {.tls = {fixture.ca, fixture.client, rows[i].key}};
        struct error error = {0};

        EXPECT_INT(get(&fixture, &owner, true, "127.0.0.1", &response, &error), 0, error.message);
        EXPECT_INT(get(&fixture, &other, true, "127.0.0.1", &response, &error), rows[i].code,
                   rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, error.message);
    }
    http_response_done(&response);
    tls_fixture_done(&fixture);
}

SUITE(http_tls, TEST(trusts_another_ca_from_then_on), TEST(shows_another_certificate_from_then_on),
      TEST(verifies_the_server), TEST(names_the_host_and_the_server), TEST(shows_its_certificate),
      TEST(a_certificate_without_its_key_is_nobodys))
