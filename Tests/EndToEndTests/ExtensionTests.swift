import Foundation
import Testing

/// What not every host has is asked for by name.
struct ExtensionTests {
  @Test func anExtensionIsFoundByItsNameAndGrantedByCapability() throws {
    let folder = try TemporaryFolder()
    try folder.write("plugins/.keep", "")
    try FixtureStages.compile("extensions", into: folder.path + "/plugins")
    try folder.write("pipeline.yaml", Pipelines.only("extensions", plugins: "plugins"))
    try folder.write("in/file.txt", "content")
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--quiet", "--format", "json", "in"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(
      outcome.attachments.first?.metadata == ["known": 1, "unknown": 0, "refused": 1], "\(outcome.out)")
  }
}
