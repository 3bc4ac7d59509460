/*
 * Hints: commands that people paste into a shell. The lines are the namespace and the account of
 * the Spec, the group and version and the plural of the kind, the namespace of the object, and the
 * API server's words. Whatever they are, a command is the two calls of kubectl that grant the one
 * verb, word for word, or there is none.
 */
#include "engine/base/str.h"
#include "runtimes/kubernetes/session/session.h"
#include "test/fuzz/fuzz.h"

#define ALLOW      "to allow it"
#define OFFER      "\n" ALLOW ": "
#define OFFER_ONE  "\n" ALLOW " for this object alone ("
#define ONE_OBJECT "--resource-name="

/* What a shell takes as it is, in any place of a word. */
static bool is_plain_word(const char *word, size_t length)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-_./:=";

    return length > 0 && strspn(word, plain) >= length;
}

/* Words that are given in a command; a prefix ("--verb=") stands for what begins so. */
static void check_command(const char *command, bool is_of_one)
{
    static const char *const expected[] = {"kubectl",
                                           "create",
                                           "role",
                                           "",
                                           "--verb=",
                                           "--resource=",
                                           ONE_OBJECT,
                                           "--namespace=",
                                           "&&",
                                           "kubectl",
                                           "create",
                                           "rolebinding",
                                           "",
                                           "--role=",
                                           "--serviceaccount=",
                                           "--namespace="};
    static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};
    const char *word = command;
    bool is_verb = false;

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        size_t length = strcspn(word, " "), fixed = strlen(expected[i]);

        if (str_equal(expected[i], ONE_OBJECT) && !is_of_one)
            continue;
        if (str_equal(expected[i], "&&")) {
            must(length == 2 && strncmp(word, "&&", 2) == 0);
        } else {
            must(is_plain_word(word, length) && str_has_prefix(word, expected[i]));
            must(length > fixed || (fixed && expected[i][fixed - 1] != '='));
            must(fixed || *word != '-');
        }
        for (size_t v = 0; i == 4 && v < ARRAY_SIZE(verbs); v++)
            is_verb |= length - fixed == strlen(verbs[v]) &&
                       strncmp(word + fixed, verbs[v], length - fixed) == 0;
        word += length + (word[length] == ' ');
    }
    must(!*word && is_verb);
}

/* A line as it is in messages (err_set()). */
static char *take_words(const uint8_t **data, size_t *size)
{
    char *line = take_line(data, size);

    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *own = take_words(&data, &size), *account = take_words(&data, &size);
    _cleanup_free_ char *version = take_words(&data, &size), *plural = take_words(&data, &size);
    _cleanup_free_ char *in = take_words(&data, &size), *words = take_words(&data, &size);
    _cleanup_free_ char *user = str_printf("system:serviceaccount:%s:%s", own, account);
    const struct kube_kind kind = {version, "Kind", plural, true};
    const struct kube_ref ref = {&kind, *in ? in : own, "name", NULL};
    struct runtime_session session = {
        .spec_namespace = own, .service_account = account, .impersonate = user};
    struct error error = {0};
    const char *offer;

    err_set(&error, ERR_FORBIDDEN, "Forbidden", "User \"%s\" cannot %s", user, words);
    session_add_hint(&session, &ref, NULL, &error);
    must_agree(ERR_FORBIDDEN, &error);
    offer = err_hints(error.message);
    if (*offer) {
        bool is_of_one = str_has_prefix(offer, OFFER_ONE);

        must(str_equal(error.reason, "AccessDenied") && !str_has_prefix(own, "kube-"));
        must(!*in || str_equal(in, own));
        must(!strchr(offer + 1, '\n') && (is_of_one || str_has_prefix(offer, OFFER)));
        check_command(is_of_one ? strstr(offer, "): ") + strlen("): ") : offer + strlen(OFFER),
                      is_of_one);
    }
    return 0;
}
