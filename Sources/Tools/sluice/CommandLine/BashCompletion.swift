/// The script for bash.
enum BashCompletion {
  static func script(_ tree: CommandTree) -> String {
    var script = """
      # Completes sluice in bash; made by `sluice completions bash`.
      _sluice() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
        local options= words= files=
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W '\(list(tree.verbs.map(\.word) + ["help"]))' -- "$current")
          return
        fi

      """
    for group in tree.groups {
      script += """
          if [[ $command == \(group) ]]; then
            if ((COMP_CWORD == 2)); then
              mapfile -t COMPREPLY < <(compgen -W '\(list(tree.following(group).map(\.word)))' -- "$current")
              return
            fi
            command="\(group) ${COMP_WORDS[2]}"
          fi

        """
    }
    script += "  case $command:$previous in\n" + tree.commands.map(values).joined() + "  esac\n"
    script += "  case $command in\n" + tree.commands.map(words).joined() + "  esac\n"
    return script + """
        if [[ $current == -* ]]; then words=$options files=; fi
        if [[ $files ]]; then
          compopt -o filenames 2>/dev/null
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
        else
          mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        fi
      }
      complete -F _sluice sluice

      """
  }

  /// The allowed values of each option.
  private static func values(_ command: CommandConfiguration) -> String {
    command.options.filter { $0.value != nil }.map { option in
      let patterns = option.spellings.map { "'\(command.name):\($0)'" }.joined(separator: "|")
      if option.takesPath { return "    \(patterns)) files=1; command= ;;\n" }
      return "    \(patterns)) words='\(list(option.choices))'; command= ;;\n"
    }.joined()
  }

  /// The words allowed as arguments.
  private static func words(_ command: CommandConfiguration) -> String {
    let options = (command.options + [.everywhere]).map { "--\($0.name)" }
    var line = "    '\(command.name)') options='\(list(options))'"
    if !command.argumentChoices.isEmpty { line += "; words='\(list(command.argumentChoices))'" }
    if command.takesFiles { line += "; files=1" }
    return line + " ;;\n"
  }

  private static func list(_ words: [String]) -> String { words.joined(separator: " ") }
}
