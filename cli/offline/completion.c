/* completion: scripts that ask `kubectl-kusion __complete` what may come next. */
#include "cli/offline/offline.h"
#include "engine/base/str.h"

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", "# source <(kubectl-kusion completion bash)\n"
             "_kubectl_kusion() {\n"
             "    local IFS=$'\\n'\n"
             "    COMPREPLY=($(kubectl-kusion __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
             "2>/dev/null))\n"
             "}\n"
             "complete -o default -F _kubectl_kusion kubectl-kusion\n"},
    {"zsh", "#compdef kubectl-kusion\n"
            "# source <(kubectl-kusion completion zsh)\n"
            "_kubectl_kusion() {\n"
            "    local -a found\n"
            "    found=(\"${(@f)$(kubectl-kusion __complete -- \"${(@)words[2,CURRENT]}\" "
            "2>/dev/null)}\")\n"
            "    if [[ -n ${found[1]} ]]; then compadd -- \"${found[@]}\"; else _files; fi\n"
            "}\n"
            "# autoloaded from fpath, this file is the function\n"
            "if [[ ${funcstack[1]} == _kubectl_kusion ]]; then _kubectl_kusion\n"
            "else compdef _kubectl_kusion kubectl-kusion; fi\n"},
    {"fish", "# kubectl-kusion completion fish | source\n"
             "function __kubectl_kusion\n"
             "    set -l words (commandline -opc) (commandline -ct)\n"
             "    kubectl-kusion __complete -- $words[2..-1] 2>/dev/null\n"
             "end\n"
             "complete -c kubectl-kusion -a '(__kubectl_kusion)'\n"},
    {"kubectl", "#!/bin/sh\n"
                "# As kubectl_complete-kusion in PATH, it completes `kubectl kusion …` (kubectl's "
                "plugin mechanism).\n"
                "kubectl-kusion __complete -- \"$@\" 2>/dev/null\n"
                "echo :0\n"},
};

int run_completion(struct cli *cli, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
        if (str_equal(cli->arguments[0], scripts[i].shell)) {
            output_lines(&cli->out, scripts[i].script);
            return EXIT_DONE;
        }
    return err_set(error, ERR_INVALID, "InvalidArgument",
                   "completion: \"%s\" is none of bash, zsh, fish and kubectl", cli->arguments[0]);
}
