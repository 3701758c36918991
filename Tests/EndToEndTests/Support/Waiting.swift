import Foundation

/// Waits for something that is expected soon, at most so many seconds. What it came to, the caller asks.
func waitBriefly(_ seconds: Double, until isSo: () -> Bool) {
  let end = Date().addingTimeInterval(seconds)
  while !isSo() && Date() < end { usleep(10_000) }
}
