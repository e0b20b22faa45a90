"""The paper's experiments: `dcka reproduce`, `dcka simulate`. docs/reproduce.md says what they show.

`network`: a data set dealt to nodes, and the first step from every start. `work`, `pool`, `store`: Monte Carlo runs, on
one processor or many, kept as they finish. `statistics`: what they come to. `exp1`, `exp2`: the experiments;
`consensus`, `dkm`, `theory`: parts of the first. `report`, `pictures`: what a person gets. `simulate`: large networks.
"""
