"""K unknown: the network clusters for each K of a range, scores each clustering, and a rule takes one.

`wish`: what is asked for. `plan_score`, `scores`: what the nodes say of a clustering. `rules`: which K follows.
`search`: the runs. `choice`: what came of it, kept beside the runs. See docs/choosing-k.md.
"""
