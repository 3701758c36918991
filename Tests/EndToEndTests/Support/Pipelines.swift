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
}
