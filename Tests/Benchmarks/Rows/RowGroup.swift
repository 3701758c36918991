/// Rows measured together.
struct RowGroup: Sendable {
  var name: String
  /// Else on the first disk alone.
  var isOnEveryDisk = false
  var run: @Sendable (Settings, Ground, Report) -> Void

  static let all = [
    RowGroup(name: "ingest", isOnEveryDisk: true, run: IngestRows.run),
    RowGroup(name: "duplicates", isOnEveryDisk: true, run: DuplicateRows.run),
    RowGroup(name: "peers", isOnEveryDisk: true, run: PeerRows.run),
    RowGroup(name: "capacity", isOnEveryDisk: true, run: CapacityRows.run),
    RowGroup(name: "queue", run: QueueRows.run),
    RowGroup(name: "report", run: ReportRows.run),
    RowGroup(name: "verbs", run: VerbRows.run),
    RowGroup(name: "deliveries", run: DeliveryRows.run),
    RowGroup(name: "latency", run: LatencyRows.run),
    RowGroup(name: "scaling", run: ScalingRows.run),
  ]
}
