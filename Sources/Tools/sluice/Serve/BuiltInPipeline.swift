/// What `sluice serve` works with where there is no pipeline.yaml.
enum BuiltInPipeline {
  /// In the place of a file's name.
  static let name = "the built-in pipeline"

  static let text = """
    version: 1
    stages:
      - use: mime
        options: { allow: [application/pdf, image/jpeg, image/png, image/gif, image/webp, text/plain] }
      - use: size
        options: { max: 10MB, rules: { "image/*": 2MB } }
      - use: pdf
        when: application/pdf
        options: { max-pages: 5000, encrypted: reject }
        timeout: 30s
        on-timeout: reject
        memory: 512MB
      - use: store
        options: { path: "documents/{conversationId}/{attachmentId}.{extension}" }
      - use: notify
        options: { to: participants, channels: [events] }
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
    lanes:
      downloads: { use: http, max-size: 10MB }
    retry: { attempts: 3, backoff: 1s, max: 1m }

    """
}
