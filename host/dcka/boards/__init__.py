"""ESP32 boards on serial ports: found, flashed, given their firmware and data, and listened to."""
