import Platform

/// The gain of a second worker, on PDFs whose text is extracted: mostly the stages' work, and hardly any of
/// the ledger's.
enum ScalingRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("scaling") {
      let input = try Input.pdfs(settings.size(1_500, quick: 400), on: ground, under: "scaling")
      var rates: [Int: [Double]] = [:]
      for round in 0...settings.rounds(atMost: 3) {
        for workers in round % 2 == 0 ? [1, 2, 4] : [4, 2, 1] {
          let pipeline = try Sluice.pipeline(
            "scaling-\(workers)",
            stages: [
              "use: mime, options: { allow: [\"*/*\"] }", "use: pdf", "use: text, options: { max-pages: 10 }",
            ],
            channels: [], workers: workers)
          try ground.settle(reading: input.folder)
          let child = try Sluice.start(pipeline, home: ground.store("scaling"), [input.folder])
          let ending = try child.end(as: 0)
          try Sluice.expectCompleted(input.count, child)
          if round == 0 { continue }
          rates[workers, default: []].append(Double(input.count) / ending.seconds)
          progress("scaling, round \(round): \(workers) workers, \(Table.number(ending.seconds)) s")
        }
      }
      let one = rates[1] ?? []
      return [
        TableRow(
          "scaling: PDFs' text, 2 workers", "files/s", rates[2] ?? [], "1 worker", one, goal: .atLeast(1.75)),
        TableRow("scaling: PDFs' text, 4 workers", "files/s", rates[4] ?? [], "1 worker", one, goal: nil),
      ]
    }
  }
}
