import Foundation
import Testing

/// Every file of the corpus through the stages that write new content: nothing crashes, and all other
/// outcomes are known.
@Suite(.enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)))
struct CorpusContentTests {
  @Test func textAndImageComeThroughEveryFile() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
        - use: text
          timeout: 10s
          on-timeout: reject
          memory: 1GB
        - use: image
          when: image/*
        - use: store
          options: { path: "{attachmentId}.{extension}" }
      retry: { attempts: 1 }
      """)
    let outcome = try SluiceCommand.run(
      [
        "ingest", "--home", "var", "--participants", "a,b", "--sender", "a", "--format", "json",
        Corpus.folder,
      ], in: folder)
    #expect(outcome.status == 1, "\(outcome.err.suffix(500))")
    #expect(outcome.err == "")

    var actions: [String: Int] = [:]
    for record in outcome.attachments {
      if !record.isCompleted {
        let isSlow = record.fileName.hasPrefix("made-slow-trailers") && record.code == "timed-out"
        #expect(
          record.status == "rejected" && (isSlow || record.code == "image-damaged"),
          "\(record)")
      }
      let action = (record.metadata["image.action"] ?? record.metadata["text.none"])?.asText
      actions[action ?? (record.metadata["text.characters"] == nil ? "other" : "text"), default: 0] += 1
      if record.metadata["image.action"] == "rewritten" {
        #expect(["image/jpeg", "image/png"].contains(record.mediaType), "\(record.fileName)")
      }
    }
    #expect(actions["rewritten", default: 0] >= 28, "\(actions)")
    #expect(actions["text", default: 0] > 300, "\(actions)")
  }
}
