import Foundation
import Testing

/// `sluice status` says what the ledger counts, and looks at no file of the store.
struct StatusTests {
  @Test func theStoreIsCountedAndNotWalked() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for name in ["a", "b", "c"] { try folder.write("in/\(name).txt", String(repeating: name, count: 1000)) }
    try folder.write("in/d.txt", String(repeating: "a", count: 1000))
    try #require(try SluiceCommand.run(["ingest", "in"], in: folder).status == 0)
    func status() throws -> (text: String, json: JSON) {
      (
        try SluiceCommand.run(["status"], in: folder).out,
        try JSON(SluiceCommand.run(["status", "--format", "json"], in: folder).out)
      )
    }
    let before = try status()
    #expect(before.text.contains("completed    4  3.9 KB\n"))
    #expect(!before.text.contains("\nstore "))
    try folder.write("var/store/of-others", Data(count: 1 << 20))
    #expect(try status().text == before.text)
    try FileManager.default.moveItem(atPath: folder.path + "/var/store", toPath: folder.path + "/away")
    #expect(try status().text == before.text)
  }
}
