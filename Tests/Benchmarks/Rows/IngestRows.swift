/// Sluice beside raw.c, which does the same work for each file and nothing else. The difference is the cost
/// of ledger, isolation and plugins.
enum IngestRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("50 KB PDFs") {
      let input = try Input.pdfs(
        settings.size(8_000, quick: 2_000), sizes: Input.usualSizes, on: ground, under: "usual")
      let comparison = try compare(settings, ground, input, pdfs: input.count, "50 KB PDFs")
      return [
        comparison.rate("files/s", input.count, goal: 0.80), comparison.processor(goal: 1.25),
        comparison.coordinator(goal: 0.22),
      ]
    }
    report.measure("the whole mix") {
      let input = try Input.pdfs(settings.size(8_000, quick: 2_000), on: ground, under: "mix")
      let comparison = try compare(settings, ground, input, pdfs: input.count, "the whole mix")
      return [comparison.rate("files/s", input.count, goal: 0.85)]
    }
    report.measure("texts") {
      let input = try Input.texts(
        settings.size(6_000, quick: 1_500), size: 4096, on: ground, under: "texts")
      let comparison = try compare(settings, ground, input, pdfs: 0, "texts of 4 KiB")
      return [comparison.rate("files/s", input.count, goal: 1), comparison.coordinator(goal: nil)]
    }
    report.measure("large files") {
      let input = try Input.blobs(
        settings.size(100, quick: 30), size: 20 << 20, on: ground, under: "blobs")
      let comparison = try compare(settings, ground, input, pdfs: 0, "files of 20 MB")
      return [comparison.rate("MB/s", Int(input.bytes >> 20), goal: 1)]
    }
  }

  /// - Parameter pdfs: how many of the files are PDFs.
  static func compare(
    _ settings: Settings, _ ground: Ground, _ input: Input, pdfs: Int, _ name: String
  ) throws -> Comparison {
    try Raw.build()
    let pipeline = try Sluice.pipeline("ingest")
    var comparison = Comparison("\(name), \(Table.number(Double(input.count)))", "plain C", input)
    try comparison.run(settings, ground) {
      try Sluice.ingest(pipeline, home: $0, input)
    } other: {
      try Raw.run(store: $0, input, pdfs: pdfs)
    }
    try input.drop(ground)
    return comparison
  }
}

/// Repeated content: Sluice stores it once and links it.
enum DuplicateRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("duplicates") {
      let input = try Input.pdfs(
        settings.size(2_000, quick: 600), copies: 3, on: ground, under: "duplicates")
      let comparison = try IngestRows.compare(
        settings, ground, input, pdfs: input.count, "each content three times")
      return [comparison.rate("files/s", input.count, goal: 1.9)]
    }
  }
}
