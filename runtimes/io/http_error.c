#include "runtimes/io/http_call.h"

/* Errors that a retry does not help. All other errors of curl mean that a connection could not be
 * made, or broke off. */
static const struct {
    CURLcode curl;
    int code;
    const char *reason;
} permanent[] = {
    {CURLE_PEER_FAILED_VERIFICATION, ERR_INVALID, "TLSVerification"},
    {CURLE_SSL_ISSUER_ERROR, ERR_INVALID, "TLSVerification"},
    {CURLE_SSL_INVALIDCERTSTATUS, ERR_INVALID, "TLSVerification"},
    {CURLE_SSL_CACERT_BADFILE, ERR_INVALID, "TLSCertificate"},
    {CURLE_SSL_CERTPROBLEM, ERR_INVALID, "TLSCertificate"},
    {CURLE_URL_MALFORMAT, ERR_INVALID, "InvalidAddress"},
    {CURLE_OUT_OF_MEMORY, ERR_INTERNAL, "InternalError"},
    {CURLE_BAD_FUNCTION_ARGUMENT, ERR_INTERNAL, "InternalError"},
    {CURLE_UNKNOWN_OPTION, ERR_INTERNAL, "InternalError"},
};

int http_error_set(struct error *error, CURLcode code, const char *text)
{
    if (!*text)
        text = curl_easy_strerror(code);
    for (size_t i = 0; i < ARRAY_SIZE(permanent); i++)
        if (permanent[i].curl == code)
            return err_set(error, permanent[i].code, permanent[i].reason, "%s", text);
    return err_set(error, ERR_UNAVAILABLE, err_reason(ERR_UNAVAILABLE), "%s", text);
}
