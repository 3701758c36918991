/// Rows measured together.
struct RowGroup: Sendable {
  var name: String
  var run: @Sendable (Settings, Ground, Report) -> Void

  static let all = [
    RowGroup(name: "ingest", run: IngestRows.run),
    RowGroup(name: "duplicates", run: DuplicateRows.run),
    RowGroup(name: "peers", run: PeerRows.run),
    RowGroup(name: "queue", run: QueueRows.run),
    RowGroup(name: "report", run: ReportRows.run),
    RowGroup(name: "verbs", run: VerbRows.run),
    RowGroup(name: "deliveries", run: DeliveryRows.run),
    RowGroup(name: "latency", run: LatencyRows.run),
    RowGroup(name: "scaling", run: ScalingRows.run),
  ]
}
