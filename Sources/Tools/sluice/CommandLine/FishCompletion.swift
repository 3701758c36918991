/// The script for fish.
enum FishCompletion {
  static func script(_ tree: CommandTree) -> String {
    var script = "# Completes sluice in fish; made by `sluice completions fish`.\ncomplete -c sluice -f\n"
    for verb in tree.verbs { script += word(verb, when: "__fish_use_subcommand") }
    for group in tree.groups {
      let following = tree.following(group)
      let seen = following.map(\.word).joined(separator: " ")
      let condition =
        "__fish_seen_subcommand_from \(group); and not __fish_seen_subcommand_from \(seen)"
      for each in following { script += word(each, when: condition) }
    }
    for command in tree.commands { script += options(command, tree) }
    return script
  }

  private static func word(_ word: (word: String, help: String), when condition: String) -> String {
    "complete -c sluice -n \(quoted(condition)) -a \(word.word) -d \(quoted(word.help))\n"
  }

  private static func options(_ command: CommandConfiguration, _ tree: CommandTree) -> String {
    let words = command.name.split(separator: " ")
    var condition = words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
    // The second word of a group may itself be a command.
    if words.count == 1 && !tree.groups.isEmpty {
      condition += "; and not __fish_seen_subcommand_from \(tree.groups.joined(separator: " "))"
    }
    let head = "complete -c sluice -n \(quoted(condition))"
    var script = ""
    if !command.argumentChoices.isEmpty {
      script += "\(head) -a \(quoted(command.argumentChoices.joined(separator: " ")))\n"
    } else if command.takesFiles {
      script += "\(head) -F\n"
    }
    for option in command.options + [.everywhere] {
      script += "\(head) -l \(option.name)"
      if let letter = option.letter { script += " -s \(letter)" }
      if option.takesPath {
        script += " -r -F"
      } else if option.value != nil {
        script += " -x"
        if !option.choices.isEmpty { script += " -a \(quoted(option.choices.joined(separator: " ")))" }
      }
      script += " -d \(quoted(option.help))\n"
    }
    return script
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
  }
}
