import LedgerPort
import Pipeline
import Platform

extension LedgerStatus {
  /// What is to be said of downloads that wait where the pipeline fetches none; `nil`: nothing.
  func unfetched(by pipeline: PipelineDefinition) -> String? {
    guard pipeline.downloads == nil, let lane = lanes.first(where: { $0.name == .downloads }) else {
      return nil
    }
    let count = lane.jobs
    if count == 0 { return nil }
    return
      "\(Count.text(count, "download")) \(count == 1 ? "waits" : "wait"), and the pipeline fetches no links; add "
      + "'lanes: { downloads: { use: http } }' to it, or `sluice reset downloads` takes them back"
  }
}

extension LedgerStatus {
  /// What is to be said of links that `prefetch` leaves; `nil`: nothing.
  var notPrefetched: String? {
    let count = lanes.reduce(0) { $0 + $1.notPrefetched }
    if count == 0 { return nil }
    return
      "\(Count.text(count, "download")) \(count == 1 ? "waits" : "wait") until somebody asks, as `prefetch` in the pipeline says; "
      + "`sluice downloads` lists them, `sluice now ID` fetches one"
  }
}
