import Pipeline

/// Combines a document with the descriptions of its plugins.
struct Resolver {
  let document: PipelineDocument
  let descriptions: [String: Result<StageDescription, PluginProblem>]
  let known: [String]
  let ownFile: (String) -> String?
  private var findings: Findings

  init(
    document: PipelineDocument, descriptions: [String: Result<StageDescription, PluginProblem>],
    known: [String], ownFile: @escaping (String) -> String?
  ) {
    self.document = document
    self.descriptions = descriptions
    self.known = known
    self.ownFile = ownFile
    findings = document.findings
  }

  mutating func definition() throws(ConfigurationError) -> PipelineDefinition {
    var combinations = Combinations()
    var stages: [StageDefinition] = []
    for entry in document.stages {
      guard let stage = stage(entry, as: .line) else { continue }
      combinations.check(stage, entry, &findings)
      stages.append(stage)
    }
    var channels: [ChannelDefinition] = []
    for entry in document.channels {
      guard let stage = stage(entry, as: .channel) else { continue }
      combinations.check(stage, entry, &findings)
      channels.append(
        ChannelDefinition(
          name: stage.id, stage: stage, schedule: entry.retry?.schedule ?? document.deliveries))
    }
    var downloads: DownloadsDefinition?
    for entry in document.lanes {
      guard let stage = stage(entry, as: .source) else { continue }
      combinations.check(stage, entry, &findings)
      var definition = DownloadsDefinition(stage: stage)
      entry.laneSettings.apply(Grammar.laneSettings, to: &definition)
      if let retry = entry.retry { definition.retry = retry.policy }
      definition.prefetch = entry.prefetch
      definition.stage.output = definition.maxSize
      if let given = entry.laneSettings["credential"], document.credentials[given.value.text] == nil {
        findings.report(
          given.mark, "there is no credential \(quoted(given.value.text))",
          Suggestion.remedy(
            for: given.value.text, among: document.credentials.keys.sorted(),
            called: "names under 'credentials'"))
      }
      if let given = entry.laneSettings[Grammar.schedule.name], definition.schedule == nil {
        findings.report(
          given.mark, "\(quoted(given.value.text)) names no times of the week",
          "write '22:00-06:00', or 'mon-fri 22:00-06:00, sat-sun 00:00-24:00'")
      }
      downloads = definition
    }
    combinations.checkMemory(document.settings[Grammar.memoryTotal.name], stages, &findings)
    guard findings.isEmpty else { throw findings.error }
    var definition = PipelineDefinition(
      stages: Self.ordered(stages), channels: channels, retry: document.retry)
    document.settings.apply(Grammar.settings, to: &definition)
    definition.keep = document.keep ?? KeepRules()
    definition.expand = document.expand ?? ExpandRules()
    (definition.downloads, definition.credentials) = (downloads, document.credentials)
    definition.secrets = document.secrets
    definition.serve = document.serve ?? ServeRules()
    return definition
  }

  /// Stages at the end that emit events run last, so that their events report the outcome after all other
  /// stages.
  private static func ordered(_ stages: [StageDefinition]) -> [StageDefinition] {
    let tells = { (stage: StageDefinition) in stage.description.role == .end && stage.tells }
    return stages.filter { !tells($0) } + stages.filter(tells)
  }

  /// `nil` if its plugin is not known.
  ///
  /// - Parameter role: what stands at this place of the file.
  private mutating func stage(_ entry: StageEntry, as role: StageDescription.Role) -> StageDefinition? {
    guard let use = entry.use else {
      entry.reportUnknownKeys(nil, &findings)
      return nil
    }
    switch descriptions[use.value.text] {
    case .success(let description):
      entry.reportUnknownKeys(description, &findings)
      let reader = OptionReader(
        stage: description, channels: document.channelNames, misplaced: entry.unknown.map(\.text),
        ownFile: ownFile)
      let values = reader.read(entry.options, at: use.mark, &findings)
      // A wrong `id` has been reported; check the rest of the stage all the same.
      return definition(
        entry, id: entry.id?.value.text ?? description.id, description.filled(in: values, folder: folder),
        values)
    case .failure(let problem):
      entry.reportUnknownKeys(nil, &findings)
      let name = use.value.text
      // The plugin exists and does not load: suggesting a similar name would not help.
      findings.report(
        use.mark, "\(role.noun) '\(name)' cannot be used: \(problem.message)",
        problem.remedy ?? nearest(to: name) ?? Self.listing)
    case nil:
      entry.reportUnknownKeys(nil, &findings)
      findings.report(
        use.mark, "unknown \(role.noun) '\(use.value.text)'", nearest(to: use.value.text) ?? Self.listing)
    }
    return nil
  }

  /// That of the pipeline's file, where relative paths begin.
  private var folder: String {
    let file = document.findings.file
    return file.lastIndex(of: "/").map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
  }

  private static let listing = "'sluice stages list' shows the stages there are"

  private func nearest(to name: String) -> String? {
    let loaded = descriptions.compactMap { name, result in
      if case .success = result { name } else { nil }
    }
    // Sorted, so that the same file always gets the same suggestion.
    let names = Set(loaded + known).subtracting([name]).sorted()
    return Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'?" }
  }

  private func definition(
    _ entry: StageEntry, id: String, _ description: StageDescription, _ values: [OptionValue]
  ) -> StageDefinition {
    var stage = StageDefinition(id: id, description: description, values: values)
    stage.conditions = entry.conditions
    entry.settings.apply(Grammar.stageSettings, to: &stage)
    return stage
  }
}
