#include "cli/commands.h"

#include <limits.h>

#include "cli/offline/offline.h"
#include "cli/online/online.h"

const struct command cli_commands[] = {
    {
        .name = "status",
        .arguments = "[NAME]",
        .summary = "Shows how Specs are: one, those of the namespace, or all (-A), worst first",
        .options = "all-namespaces selector watch pods failed events",
        .formats = "json|yaml|wide|name",
        .example = "kubectl kusion status -A\n"
                   "kubectl kusion status web --pods\n"
                   "kubectl kusion status web --watch\n",
        .most = 1,
        .run = run_status,
    },
    {
        .name = "preview",
        .arguments = "NAME | -f FILE",
        .summary = "Shows what would be changed, and changes nothing",
        .about =
            "Makes a Release with the operation Preview, waits for it, shows its plan, and "
            "removes it.\nThe operator plans with the rights of the Spec's ServiceAccount: what "
            "it may not do shows, too.\n",
        .options = "filename kustomize to-revision destroy full show-unchanged detailed-exitcode "
                   "service-account name order timeout",
        .formats = "json|yaml",
        .example = "kubectl kusion preview web\n"
                   "kubectl kusion preview -f web.yaml\n"
                   "kubectl kusion preview web --to-revision 7\n",
        .most = 1,
        .run = run_preview,
    },
    {
        .name = "apply",
        .arguments = "-f FILE",
        .summary = "Applies Specs, and follows them on a terminal or with --watch",
        .about = "The Spec is applied server-side, and only what is of this change is told. Ctrl-c "
                 "leaves the operator at work.\n",
        .options =
            "filename kustomize watch timeout yes preview full service-account name order dry-run "
            "field-manager force-conflicts",
        .formats = "json",
        .example = "kubectl kusion apply -f web.yaml --watch\n"
                   "kubectl kusion apply -f web.yaml --preview\n",
        .run = run_apply,
    },
    {
        .name = "approve",
        .arguments = "NAME | --all",
        .summary = "Shows the plan that waits, and approves it",
        .about =
            "The plan that is approved is the one that was shown: if it has changed meanwhile, it "
            "is shown again.\nIn a pipe, --digest or --yes approves without a question.\n",
        .options = "digest yes reason all watch timeout full show-unchanged",
        .example = "kubectl kusion approve web\n"
                   "kubectl kusion approve web --digest 868f138c027c\n",
        .most = 1,
        .run = run_approve,
    },
    {
        .name = "reject",
        .arguments = "NAME | --all",
        .summary = "Rejects the plan that waits",
        .about = "The same plan is not asked for again until the Spec changes.\n",
        .options = "digest yes reason all full show-unchanged",
        .example = "kubectl kusion reject web --reason \"not before Monday\"\n",
        .most = 1,
        .run = run_reject,
    },
    {
        .name = "wait",
        .arguments = "NAME",
        .summary = "Waits until a Spec is ready, has finished, or has a plan to approve",
        .about =
            "--for ready: until all is applied and healthy; a failure is waited on, a plan that "
            "waits for approval is not (4).\n--for finished: until the Spec, as it is now, is "
            "applied (0) or has failed (1).\n--for approval: until a plan waits.\n"
            "Without --timeout, five minutes.\n",
        .options = "for timeout",
        .formats = "json",
        .example = "kubectl kusion wait web --for finished --timeout 10m\n",
        .least = 1,
        .most = 1,
        .run = run_wait,
    },
    {
        .name = "rollback",
        .arguments = "NAME",
        .summary = "Applies an earlier revision again, and holds the Spec at it",
        .about =
            "Without --to-revision, it goes back to the last revision that succeeded with other "
            "resources than those in force.\n",
        .options = "to-revision preview yes withdraw timeout full show-unchanged detailed-exitcode",
        .formats = "json",
        .example = "kubectl kusion rollback web --preview\n"
                   "kubectl kusion rollback web --to-revision 7\n"
                   "kubectl kusion rollback web --withdraw\n",
        .least = 1,
        .most = 1,
        .run = run_rollback,
    },
    {
        .name = "destroy",
        .arguments = "NAME",
        .summary = "Deletes what a Spec has made, and leaves the Spec",
        .options = "preview yes withdraw timeout full detailed-exitcode",
        .formats = "json",
        .example = "kubectl kusion destroy web --preview\n"
                   "kubectl kusion destroy web\n",
        .least = 1,
        .most = 1,
        .run = run_destroy,
    },
    {
        .name = "history",
        .arguments = "NAME",
        .summary = "Lists the operations of a Spec, the latest first",
        .options = "limit previews plan full",
        .formats = "json",
        .example = "kubectl kusion history web\n"
                   "kubectl kusion history web --limit 3 --plan\n",
        .least = 1,
        .most = 1,
        .run = run_history,
    },
    {
        .name = "show",
        .arguments = "NAME@N | RELEASE | -f FILE",
        .summary = "Shows an operation: its plan, and what became of it",
        .options = "filename full show-unchanged",
        .formats = "json|yaml",
        .example = "kubectl kusion show web@7\n"
                   "kubectl kusion show web-7\n"
                   "kubectl get releases -o json | kubectl kusion show -f -\n",
        .most = 1,
        .run = run_show,
    },
    {
        .name = "diff",
        .arguments = "NAME@N [NAME@M | live]",
        .summary = "Compares a revision with another one, the one in force, or with what is live",
        .options = "detailed-exitcode full show-unchanged timeout",
        .formats = "json",
        .example = "kubectl kusion diff web@7 web@9\n"
                   "kubectl kusion diff web@7 live\n"
                   "kubectl kusion diff web\n",
        .least = 1,
        .most = 2,
        .run = run_diff,
    },
    {
        .name = "reconcile",
        .arguments = "NAME | --failed",
        .summary = "Asks the operator to compare and correct a Spec now, or all that failed",
        .options = "failed all-namespaces selector watch timeout",
        .formats = "json",
        .example = "kubectl kusion reconcile web --watch\n"
                   "kubectl kusion reconcile --failed -A\n",
        .most = 1,
        .run = run_reconcile,
    },
    {
        .name = "suspend",
        .arguments = "NAME",
        .summary = "Suspends a Spec: it is neither applied nor corrected",
        .options = "watch timeout",
        .example = "kubectl kusion suspend web\n",
        .least = 1,
        .most = 1,
        .run = run_suspend,
    },
    {
        .name = "resume",
        .arguments = "NAME",
        .summary = "Ends a suspension",
        .options = "watch timeout",
        .example = "kubectl kusion resume web --watch\n",
        .least = 1,
        .most = 1,
        .run = run_resume,
    },
    {
        .name = "rbac check",
        .arguments = "NAME",
        .summary = "Shows which rights the Spec's ServiceAccount lacks for what is to be done",
        .options = "timeout",
        .example = "kubectl kusion rbac check web\n",
        .least = 1,
        .most = 1,
        .run = run_rbac_check,
    },
    {
        .name = "rbac grant",
        .arguments = "NAME",
        .summary = "Shows what would grant these rights, asks, and grants them",
        .about =
            "Only Roles and RoleBindings of the Spec's own namespace are made, as the operator "
            "offers them.\n",
        .options = "yes timeout",
        .example = "kubectl kusion rbac grant web\n",
        .least = 1,
        .most = 1,
        .run = run_rbac_grant,
    },
    {
        .name = "state list",
        .arguments = "",
        .summary = "Lists Specs with the number of objects that are recorded as theirs",
        .options = "all-namespaces selector",
        .example = "kubectl kusion state list -A\n",
        .run = run_state_list,
    },
    {
        .name = "state show",
        .arguments = "NAME",
        .summary = "Shows which objects are recorded as a Spec's",
        .formats = "json|yaml",
        .example = "kubectl kusion state show web\n",
        .least = 1,
        .most = 1,
        .run = run_state_show,
    },
    {
        .name = "doctor",
        .arguments = "",
        .summary = "Looks for what is wrong: API server, kinds, operator, Specs",
        .about = "All namespaces are looked at, or the one of -n.\n",
        .options = "all-namespaces",
        .example = "kubectl kusion doctor\n",
        .run = run_doctor,
    },

    /* ---- Without a cluster ---- */
    {
        .name = "validate",
        .arguments = "-f FILE",
        .summary =
            "Says what is wrong with Specs, Kusion specs or manifests, with file, line and column",
        .about = "It needs no cluster, but for --strict. Several Specs are checked each by itself, "
                 "manifests "
                 "together, as the Spec\n"
                 "that `convert` would make of them. Exit code 1: there are errors.\n",
        .options = "filename kustomize recursive order strict",
        .formats = "json|github|sarif",
        .example = "kubectl kusion validate -f deploy/\n"
                   "kubectl kusion validate -k overlays/prod -o github\n"
                   "kubectl kusion validate -f deploy/ --strict\n",
        .most = UINT_MAX,
        .run = run_validate,
    },
    {
        .name = "convert",
        .arguments = "-f FILE",
        .summary = "Makes a Spec of manifests, of Helm's or Kustomize's, or of a Kusion spec",
        .about = "FILE is YAML or JSON, a folder of such files, or - for standard input: "
                 "manifests, the output of\n"
                 "`helm template`, what `kusion generate -o FILE` wrote, a Spec, or (--from "
                 "tfstate) a state file of\n"
                 "Terraform. What annotations say about order becomes dependsOn, and what other "
                 "tools obey and the\n"
                 "operator does not is told. No cluster is asked: without -n the Spec, and objects "
                 "that name none, get no\n"
                 "namespace. With --preview, the result is a Release that asks for a preview of "
                 "the Spec.\n"
                 "docs/migration.md is the guide.\n",
        .options = "filename kustomize recursive name namespace service-account order to from "
                   "schemas split "
                   "preview",
        .formats = "yaml|json",
        .example = "kubectl kusion convert -f manifests/ --name web -n team-a > spec.yaml\n"
                   "helm template web chart/ | kubectl kusion convert -f - --name web -n team-a\n"
                   "kubectl kusion convert -f spec.yaml --to manifests\n"
                   "kubectl kusion convert --from tfstate -f terraform.tfstate --name db\n",
        .is_offline = true,
        .most = UINT_MAX,
        .run = run_convert,
    },
    {
        .name = "graph",
        .arguments = "NAME | -f FILE",
        .summary = "Draws the graph of a Spec: what is made before what",
        .about = "What stands below another resource is made after it. Arrows of dot and mermaid "
                 "are solid where\n"
                 "dependsOn says it, and else dashed or named: a reference, or the kinds.\n",
        .options = "filename kustomize recursive order to",
        .formats = "tree|dot|mermaid",
        .example = "kubectl kusion graph web\n"
                   "kubectl kusion graph -f deploy/ -o dot | dot -Tsvg > graph.svg\n"
                   "kubectl kusion graph web --to Deployment/web\n",
        .most = 1,
        .run = run_graph,
    },
    {
        .name = "explain",
        .arguments = "[REASON]",
        .summary = "Says what a reason or a condition means, and what to do",
        .example = "kubectl kusion explain HealthCheckFailed\n"
                   "kubectl kusion explain    # all of them\n",
        .is_offline = true,
        .most = 1,
        .run = run_explain,
    },
    {
        .name = "completion",
        .arguments = "bash|zsh|fish|kubectl",
        .summary = "Prints a script that completes command lines in a shell",
        .about = "bash, zsh and fish complete kubectl-kusion. That of kubectl is to be an "
                 "executable file\n"
                 "kubectl_complete-kusion in PATH: then kubectl completes `kubectl kusion`.\n",
        .example = "source <(kubectl-kusion completion bash)\n",
        .is_offline = true,
        .least = 1,
        .most = 1,
        .run = run_completion,
    },
    {
        .name = "version",
        .arguments = "",
        .summary = "Shows the version of this program, and of the operators in the cluster",
        .formats = "json",
        .example = "kubectl kusion version\n",
        .run = run_version,
    },
    /* ---- For scripts: not in the help ---- */
    {
        .name = "__complete",
        .arguments = "-- WORD…",
        .summary = "Prints what may come next on a command line",
        .most = UINT_MAX,
        .run = run_complete,
    },
    {
        .name = "__man",
        .arguments = "FOLDER",
        .summary = "Writes man pages into a folder",
        .is_offline = true,
        .least = 1,
        .most = 1,
        .run = run_man,
    },
};
const size_t n_cli_commands = ARRAY_SIZE(cli_commands);
