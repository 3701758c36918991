/// Pipelines that tests share.
enum Pipelines {
  /// The five stages, with everything allowed.
  static let open = """
    version: 1
    stages:
      - use: mime
        options: { allow: ["*/*"] }
      - use: size
        options: { max: 100MB, min: 0B }
      - use: pdf
        when: application/pdf
        timeout: 30s
        memory: 1GB
      - use: store
        options: { path: "documents/{conversationId}/{messageId}/document.{extension}" }
      - use: notify
        options: { to: participants, channels: [events] }
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
    retry: { attempts: 3, backoff: 100ms, max: 1s }
    """

  /// The file of events, as a channel.
  static let events = ["events": "{ use: jsonl, options: { path: events.jsonl } }"]

  /// Admits everything, stores what these stages pass, and tells the participants.
  ///
  /// - Parameters:
  ///   - stages: as a list that is not indented.
  ///   - more: further settings.
  static func telling(_ stages: String = "", channels: [String: String] = events, more: String = "") -> String
  {
    let channels = channels.sorted { $0.key < $1.key }
    return """
      \(storing(stages))
        - use: notify
          options: { to: participants, channels: [\(channels.map(\.key).joined(separator: ", "))] }
      channels:
      \(channels.map { "  \($0.key): \($0.value)" }.joined(separator: "\n"))
      \(more)
      """
  }

  /// Admits everything, and stores what these stages pass.
  static func storing(_ stages: String = "", path: String = "{attachmentId}.{extension}") -> String {
    let lines = stages.split(separator: "\n").map { "  \($0)\n" }.joined()
    return """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
      \(lines)  - use: store
          options: { path: "\(path)" }
      """
  }

  /// One stage and nothing else.
  ///
  /// - Parameters:
  ///   - stage: its id and its settings.
  ///   - plugins: the folder it is in, if that is none of the search path.
  static func only(_ stage: String, plugins: String? = nil, more: String = "") -> String {
    let plugins = plugins.map { "plugins: [\($0)]\n" } ?? ""
    return "version: 1\n\(plugins)stages: [{ use: \(stage) }]\n\(more)\n"
  }
}
