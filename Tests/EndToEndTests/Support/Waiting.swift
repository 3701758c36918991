import Foundation

/// Waits for something that is expected soon. The caller asks afterwards whether it has come.
///
/// - Parameter seconds: how long a slow machine takes for it. The wait ends after ten times as long.
func waitBriefly(_ seconds: Double, until isSo: () -> Bool) {
  let end = Date().addingTimeInterval(seconds * 10)
  while !isSo() && Date() < end { usleep(10_000) }
}
