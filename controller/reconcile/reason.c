#include "controller/reconcile/reason.h"

#include <stddef.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"

static const char *const known[] = {
    "AccessDenied",
    "AlreadyExists",
    "BadGateway",
    "BadRequest",
    "Cancelled",
    "Conflict",
    "ConflictDetected",
    "Corrupt",
    "CyclicDependency",
    "DeletionGuardTripped",
    "Deferred",
    "DependencyNotReady",
    "Expired",
    "Fenced",
    "Forbidden",
    "Gone",
    "HealthCheckFailed",
    "InternalError",
    "Invalid",
    "InvalidReference",
    "InvalidSchema",
    "InvalidSpec",
    "KindNotFound",
    "KindNotServed",
    "MemoryExceeded",
    "MethodNotAllowed",
    "NamespaceNotFound",
    "NamespaceTerminating",
    "NotAcceptable",
    "NotFound",
    "NotLeader",
    "NotServed",
    "OutcomeUnknown",
    "PlanKeyCorrupt",
    "PlanNeeded",
    "PruneFailed",
    "Progressing",
    "ReconciliationSucceeded",
    "ReleaseCorrupt",
    "ReleaseNameTaken",
    "ReleaseTooLarge",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServiceAccountNotFound",
    "ServiceUnavailable",
    "SpecNotFound",
    "StateConflict",
    "StateCorrupt",
    "StateLocked",
    "StateLost",
    "StateOfLaterLeader",
    "StateOutcomeUnknown",
    "StateTooLarge",
    "Shutdown",
    "Superseded",
    "Suspended",
    "Terminating",
    "Timeout",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "Unauthorized",
    "Unavailable",
    "UnderWay",
    "UnexpectedAnswer",
    "UnknownReference",
    "Unsupported",
    "UnsupportedMediaType",
    "WebhookFailed",
};

const char *reason_label(const char *reason)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_equal(known[i], reason))
            return known[i];
    return "Other";
}
