from __future__ import annotations
import numpy as np
class FeatureColumns:
    def learn(self,x): return np.zeros(0)
    def read_many(self,xs,h): return np.zeros((h,0))
