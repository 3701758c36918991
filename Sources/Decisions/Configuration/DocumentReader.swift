import Pipeline

/// Reads the tree of a file into a ``PipelineDocument``.
struct DocumentReader {
  var document: PipelineDocument
  /// What was filled in.
  let substitution: Substitution

  /// False if the errors found make it useless to look plugins up.
  mutating func read(_ root: Node) -> Bool {
    guard let section = Section(root, keys: Grammar.top) else {
      if case .unusable = root.content { return false }
      document.findings.report(
        root.mark, "a pipeline file is a map of keys, not \(root.noun)", "begin it with 'version: 1'")
      return false
    }
    guard readVersion(section) else { return false }
    section.reportUnknown(&document.findings)
    let foldersAreKnown = readPlugins(section)
    readStages(section)
    readChannels(section)
    if let node = section["lanes"] { document.lanes = LanesSection.entries(node, &document.findings) }
    if let node = section["credentials"] {
      document.credentials = CredentialsSection.credentials(node, substitution, &document.findings)
    }
    checkNames()
    readRetry(section)
    if let node = section["keep"] {
      document.keep = RulesSection.keep.read(node, KeepRules(), &document.findings)
    }
    if let node = section["expand"] {
      document.expand = RulesSection.expand.read(node, ExpandRules(), &document.findings)
    }
    if let node = section["secrets"] {
      document.secrets = SecretsSection.rules(node, &document.findings) ?? SecretRules()
    }
    if let node = section["serve"] { document.serve = ServeSection.rules(node, &document.findings) }
    document.settings = section.read(Grammar.settings, &document.findings)
    return foldersAreKnown && !document.stages.isEmpty
  }

  /// False for another version: the rest of the file would have another meaning.
  private mutating func readVersion(_ section: Section) -> Bool {
    guard section[Grammar.version.name] != nil else {
      if !section.misspells(Grammar.version.name) {
        document.findings.report(
          section.mark, "the file does not say its version", "add 'version: 1' at the top")
      }
      return true
    }
    guard let given = section.readOne(Grammar.version, &document.findings) else { return true }
    if given.value.integer == 1 { return true }
    document.findings.report(
      given.mark, "version \(given.value.integer) is not known here", "write 'version: 1'")
    return false
  }

  private mutating func readPlugins(_ section: Section) -> Bool {
    guard let node = section[Grammar.plugins.name], !node.isNull else { return true }
    if case .sequence(let items) = node.content, items.isEmpty { return true }
    guard let folders = section.read(Grammar.plugins, &document.findings) else { return false }
    let file = document.findings.file
    let base = file.lastIndex(of: "/").map { file[...$0] } ?? ""
    var usable = true
    for folder in folders {
      let path = folder.value.text
      if path.isEmpty {
        document.findings.report(
          folder.mark, "a folder of 'plugins' is empty", "write '.' for the folder of this file")
        usable = false
      } else if path == "~" || path.hasPrefix("~/") {
        document.findings.report(
          folder.mark, "\(quoted(path)) begins with '~', which only a shell fills in",
          "write '${HOME}\(path.dropFirst())'")
        usable = false
      }
      document.pluginFolderMarks.append(folder.mark)
      document.pluginFolders.append(path.hasPrefix("/") ? path : base + path)
    }
    return usable
  }

  private mutating func readStages(_ section: Section) {
    guard let node = section["stages"], !node.isNull else {
      if !section.misspells("stages") {
        document.findings.report(
          section["stages"]?.mark ?? section.mark, "there are no stages",
          "list one at least: 'stages: [{ use: mime }]'")
      }
      return
    }
    switch node.content {
    case .unusable: break
    case .sequence(let items):
      if items.isEmpty {
        document.findings.report(node.mark, "there are no stages", "list one at least: '- use: mime'")
      }
      document.stages = items.compactMap { StageEntry($0, &document.findings) }
    case .scalar, .mapping:
      document.findings.report(
        node.mark, "'stages' takes a list, not \(node.noun)", "begin each stage with '- use: NAME'")
    }
  }

  private mutating func readChannels(_ section: Section) {
    guard let node = section["channels"], !node.isNull else { return }
    switch node.content {
    case .unusable: break
    case .mapping(let entries):
      document.channelNames = entries.map(\.key.text)
      document.channels = entries.compactMap { StageEntry($0.value, name: $0.key, &document.findings) }
    case .scalar, .sequence:
      document.findings.report(
        node.mark, "'channels' takes a map, not \(node.noun)", "write 'channels: { events: { use: jsonl } }'")
    }
  }

  /// Checks that names are unique over stages and channels, because attempts, lanes and workers are
  /// identified by name.
  private mutating func checkNames() {
    var places: [String: Mark] = [:]
    for entry in document.stages + document.channels {
      guard let id = entry.id else { continue }
      let name = id.value.text
      guard let first = places[name] else {
        places[name] = id.mark
        continue
      }
      if entry.place == .stage {
        document.findings.report(
          id.mark, "two stages are called '\(name)', the first at line \(first.line)",
          "give one of them an 'id' of its own")
      } else {
        document.findings.report(
          id.mark, "the channel '\(name)' is called like the stage at line \(first.line)",
          "give one of them another name")
      }
    }
  }

  private mutating func readRetry(_ section: Section) {
    guard let node = section["retry"],
      let retry = RetrySection(node, standard: RetryPolicy(), &document.findings)
    else { return }
    document.retry = retry.policy
    document.deliveries = retry.schedule
  }
}
