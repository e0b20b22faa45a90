"""A broker with locks: authority and certificates, passwords, rules, and the proof that they hold."""
