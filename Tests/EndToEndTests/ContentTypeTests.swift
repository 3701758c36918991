import Foundation
import Testing

/// The types that `mime` finds where libmagic does not know, or goes by the order of the parts.
struct ContentTypeTests {
  @Test func theStructureDecidesWhereLibmagicDoesNotKnow() throws {
    let made = try MadeContents<String>("mediatypes.py")
    for (run, (file, expected)) in zip(try made.run("mime"), made.expected) {
      #expect(run.mediaType == expected, "\(file), by libmagic \(run.metadata["mime.magic"]?.asText ?? "")")
    }
  }

  @Test func macrosMeetTheirRuleWhateverTheOrderOfTheParts() throws {
    let made = try MadeContents<String>("mediatypes.py")
    let rule = "deny=application/vnd.ms-word.document.macroEnabled.12"
    for (run, (file, expected)) in zip(try made.run("mime", ["--set", rule]), made.expected) {
      let isDenied = expected == "application/vnd.ms-word.document.macroEnabled.12"
      #expect(run.code == (isDenied ? "type-not-allowed" : nil), "\(file)")
    }
  }

  @Test func libmagicsOwnAnswerStaysInTheMetadata() throws {
    let made = try MadeContents<String>("mediatypes.py")
    let run = try #require(try made.run("mime", [], ["packed.odt"]).first)
    #expect(run.metadata["mime.magic"] == "application/zip")
  }
}
