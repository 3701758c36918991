import Platform

/// Sluice beside raw.c, which does the same work for each file and nothing else. The difference is the cost
/// of ledger, isolation and plugins.
enum IngestRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("ingest: PDFs") { try pdfs(settings, ground) }
    report.measure("ingest: texts") { try texts(settings, ground) }
    report.measure("ingest: large files") { try blobs(settings, ground) }
  }

  private static func pdfs(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let input = try Input.pdfs(settings.size(20_000, quick: 5_000), under: "pdfs")
    let name = "ingest: \(Table.number(Double(input.count))) PDFs"
    let rounds = try compare(settings, ground, input, pdfs: input.count, name)
    return [
      rounds.row(name, "files/s", input.count, goal: 0.90), rounds.coordinator(name, input.count),
    ]
  }

  private static func texts(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let input = try Input.texts(settings.size(50_000, quick: 10_000), size: 4096, under: "texts")
    let name = "ingest: \(Table.number(Double(input.count))) texts of 4 KiB"
    let rounds = try compare(settings, ground, input, pdfs: 0, name, atMost: 3)
    return [
      rounds.row(name, "files/s", input.count, goal: 0.75), rounds.coordinator(name, input.count),
    ]
  }

  private static func blobs(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let input = try Input.blobs(settings.size(200, quick: 40), size: 20 << 20, under: "blobs")
    let name = "ingest: \(input.count) files of 20 MB"
    let rounds = try compare(settings, ground, input, pdfs: 0, name, atMost: 3)
    try input.drop(ground)
    return [rounds.row(name, "MB/s", Int(input.bytes >> 20), goal: 0.90)]
  }

  /// The times of the rounds.
  struct Rounds {
    var sluice: [Ending] = []
    var raw: [Ending] = []

    func row(_ name: String, _ unit: String, _ amount: Int, goal: Double, isAbove: Bool = false) -> TableRow {
      TableRow(
        name, unit, sluice.map { Double(amount) / $0.seconds }, "raw C",
        raw.map { Double(amount) / $0.seconds },
        goal: isAbove ? .above(goal) : .atLeast(goal))
    }

    func coordinator(_ name: String, _ count: Int) -> TableRow {
      TableRow(
        "\(name): coordinator's CPU", "us each", sluice.map { $0.ownSeconds / Double(count) * 1e6 },
        goal: .atMost(60))
    }
  }

  /// Round 0 warms up programs, libraries and the magic database, and is dropped. The programs take turns in
  /// going first, so that drift of the machine favours neither.
  static func compare(
    _ settings: Settings, _ ground: Ground, _ input: Input, pdfs: Int, _ name: String, atMost most: Int = 5
  ) throws -> Rounds {
    try Raw.build()
    let pipeline = try Sluice.pipeline("ingest")
    var rounds = Rounds()
    let count = settings.rounds(atMost: most)
    let started = Clock.monotonic()
    for round in 0...count {
      // A slow disk gets fewer rounds, unless the user gave a number.
      if settings.rounds == nil, round > 2, Clock.monotonic() - started > 240_000_000_000 { break }
      var sluice: Ending?
      var raw: Ending?
      for isSluice in round % 2 == 0 ? [true, false] : [false, true] {
        try ground.settle(reading: input.folder)
        if isSluice {
          sluice = try Sluice.ingest(pipeline, home: ground.store("sluice"), input)
        } else {
          raw = try Raw.run(store: ground.store("raw"), input, pdfs: pdfs)
        }
      }
      guard round > 0, let sluice, let raw else { continue }
      rounds.sluice.append(sluice)
      rounds.raw.append(raw)
      progress(
        "\(name), round \(round) of \(count): \(Table.number(sluice.seconds)) s, raw "
          + "\(Table.number(raw.seconds)) s")
    }
    return rounds
  }
}

/// Repeated content: Sluice stores it once and links it.
enum DuplicateRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("duplicates") {
      let input = try Input.pdfs(settings.size(6_000, quick: 1_500), copies: 3, under: "duplicates")
      let name = "duplicates: \(Table.number(Double(input.contents))) PDFs, three times each"
      let rounds = try IngestRows.compare(settings, ground, input, pdfs: input.count, name, atMost: 3)
      return [rounds.row(name, "files/s", input.count, goal: 1, isAbove: true)]
    }
  }
}
