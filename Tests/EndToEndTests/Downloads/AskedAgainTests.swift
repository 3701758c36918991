import Testing

/// Links that are known, and are asked for again.
struct AskedAgainTests {
  /// Without a coordinator beside it: `fetch` does the work itself.
  @Test func whatPrefetchLeavesIsFetchedOnceItIsAskedFor() throws {
    let server = try ContentServer()
    let home = try DownloadHome(["prefetch: { messages: 1 }"])
    let (older, newer) = ("/content/1000/older", "/content/1000/newer")
    let lines = [older, newer].map {
      #"{"url":"\#(server.url)\#($0)","conversationId":"c","messageId":"\#($0)","senderId":"ann","fileName":"\#($0)"}"#
    }
    try home.folder.write("list.jsonl", lines.joined(separator: "\n"))
    #expect(try home.sluice("ingest", "--manifest", "list.jsonl").status == 0)
    try home.checkCompleted([newer])
    #expect(try home.listed().first { $0.fileName == older }?.status == "queued")

    let asked = try home.sluice(
      "fetch", "--conversation", "c", "--sender", "ann", "--message", older, server.url + older)
    #expect(asked.status == 0, "\(asked.err)")
    try home.checkCompleted([older], seconds: 1)
    #expect(server.requests(of: older).count == 1)
  }
}
