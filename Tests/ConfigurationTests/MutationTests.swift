import Configuration
import Platform
import Pipeline
import Testing

/// Thousands of broken files: each is read, or refused with a place in the file; none crashes or hangs.
struct MutationTests {
  private static let seed = """
    version: 1
    plugins: [lib, "${LIB:-/opt/lib}"]
    stages:
      - use: mime
        options: { allow: [application/pdf, "image/*"] }
      - use: size
        options: { max: 10MB, rules: { "image/*": 2MB } }
      - use: pdf
        when: application/pdf
        options: { max-pages: 5000, encrypted: reject, strict: false }
        timeout: 30s
        memory: 512MB
        on-crash: hold
      - use: store
        options: { path: "documents/{conversationId}/{messageId}/document.{extension}" }
      - use: notify
        options: { to: participants, channels: [events] }
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
    retry: { attempts: 3, backoff: 1s, max: 1m }
    sandbox: prefer
    workers: 2

    """

  /// Texts with a meaning for YAML, variables or pipelines.
  private static let pieces = [
    "*", "&a ", "*a", "!!str ", "!x ", "${", "}", "$", "$$", "${A}", "{", "[", "]", ",", ": ", "- ", "? ",
    "|\n", ">\n",
    "\"", "'", "\\", "\t", "\n", "\r", " ", "#", "---\n", "...\n", "%YAML 1.1\n", "<<: ", "~", "null", "true",
    "-1",
    "99999999999999999999", "10MB", "0s", "*/*", "image/*", "use: ", "options: ", "channels: ", "\u{FEFF}",
    "\u{2028}",
    "é🎈", "\u{0}",
  ].map { Array($0.utf8) }

  @Test(.timeLimit(.minutes(5))) func noMutationCrashesTheReader() {
    var random = SplitMix(state: 2024)
    let rounds = 1500
    let refused = (0..<rounds).count { _ in Self.isRefused(Self.mutation(&random)) }
    // Both results occur: a mutation in a comment or a text is accepted, most others are not.
    #expect(refused > 0 && refused < rounds)
  }

  private static func mutation(_ random: inout SplitMix) -> [UInt8] {
    var bytes = Array(seed.utf8)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...20, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.removeSubrange(place..<end)
      case 2:
        bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
      case 3: bytes.removeSubrange(place...)
      default: bytes.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: place)
      }
      if bytes.isEmpty { return bytes }
    }
    return bytes
  }

  private static func isRefused(_ bytes: [UInt8]) -> Bool {
    do throws(ConfigurationError) {
      let document = try PipelineDocument.parse(bytes, file: "p", environment: ["A": "a\u{0}b"])
      _ = try document.resolve(Samples.descriptions)
      return false
    } catch {
      let lines = bytes.split(omittingEmptySubsequences: false) { $0 == 10 || $0 == 13 }.count + bytes.count
      #expect(!error.diagnostics.isEmpty)
      for diagnostic in error.diagnostics {
        #expect((1...lines).contains(diagnostic.line) && diagnostic.column >= 1)
        #expect(!diagnostic.description.contains("\n"))
      }
      let places = error.diagnostics.map { ($0.line, $0.column) }
      #expect(zip(places, places.dropFirst()).allSatisfy { $0 <= $1 })
      return true
    }
  }
}
