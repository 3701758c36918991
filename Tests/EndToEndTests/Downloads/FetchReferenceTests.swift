import Testing

/// `sluice fetch --reference`: a link is found again by the name that its client gave it.
struct FetchReferenceTests {
  private let server: ContentServer
  private let home: DownloadHome

  init() throws {
    server = try ContentServer()
    home = try DownloadHome()
  }

  private func found(_ reference: String) throws -> [Printed.Attachment] {
    try home.sluice("list", "--reference", reference, "--format", "json").attachments
  }

  @Test func aLinkIsFoundByIt() throws {
    let link = server.url + "/content/1000/a"
    let fetched = try home.sluice(
      "fetch", "--reference", "order 3", "--name", "a.bin", "--format", "json", link)
    #expect(fetched.status == 0 && fetched.out.contains(#""reference":"order 3""#), "\(fetched.err)")
    #expect(try home.sluice("fetch", server.url + "/content/1000/b").status == 0)
    #expect(try found("order 3").map(\.fileName) == ["a.bin"])
    #expect(try found("order").isEmpty)
    let id = try #require(try found("order 3").first).id
    #expect(try home.sluice("show", id).out.contains("order 3"))
    #expect(try home.sluice("list", "--format", "csv").out.contains(",order 3,"))
  }

  @Test func aLinkThatIsQueuedIsToldByItsHost() throws {
    let resident = try Resident(home.folder)
    let queued = try home.sluice("enqueue", "--format", "json", server.url + "/content/1000/a.bin")
    #expect(queued.out.contains(#""source":"\#(server.url)/…""#), "\(queued.out)\(queued.err)")
    try Resident.wait("it is fetched, with the name in its link") {
      try home.sluice("list", "--format", "json").attachments.map(\.fileName) == ["a.bin"]
    }
    #expect(resident.stop() == 0)
  }

  /// A coordinator that is at work is handed it with the link.
  @Test func aCoordinatorAtWorkGetsIt() throws {
    let resident = try Resident(home.folder)
    let fetched = try home.sluice(
      "fetch", "--reference", "order 4", "--format", "json", server.url + "/content/1000/a")
    #expect(fetched.status == 0, "\(fetched.err)")
    #expect(fetched.records(Printed.Item.self).map(\.reference) == ["order 4"])
    #expect(try found("order 4").map(\.status) == ["completed"])
    #expect(resident.stop() == 0)
  }

  @Test func itIsForOneLink() throws {
    let (one, other) = ("https://a.example.com/1", "https://a.example.com/2")
    try home.folder.write("list.jsonl", #"{"url":"\#(one)","reference":"order 5"}"# + "\n")
    let isForOne =
      "sluice: option '--reference' is for one link; in a manifest each has its own `reference`\n"
    for words in [[one, other], ["--manifest", "list.jsonl"], []] {
      let outcome = try home.sluice(["fetch", "--reference", "order 5"] + words)
      #expect(outcome.status == 2 && outcome.err == isForOne, "\(words): \(outcome.err)")
    }
    for reference in ["", String(repeating: "é", count: 129)] {
      let outcome = try home.sluice("fetch", "--reference", reference, one)
      #expect(outcome.status == 2 && outcome.err == "sluice: --reference has 1 to 256 bytes\n")
    }
    #expect(try home.sluice("list").status != 0, "no home was made")
  }
}
